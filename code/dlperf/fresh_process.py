"""Evaluate an expression in a new Python process, whose memory, caches and settings nothing else has touched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any


def evaluate(expression: str, given: str, **environ: str) -> Any:
    """Returns the value of ``expression`` in a new process that has run the statements ``given``.

    The value travels as JSON; ``environ`` is added to the environment. Raises RuntimeError with what the process
    wrote if it fails.
    """
    code = f"import json; {given}; print(json.dumps({expression}))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **environ}
    )
    if done.returncode:
        raise RuntimeError(f"{expression} failed in a fresh process: {done.stderr.strip()[-2000:]}")
    return json.loads(done.stdout)
