"""Write the locks: every file that the index has of each version that is pinned, by its SHA-256 (`make lock`).

uv resolves for all systems and Pythons at once. What only PyTorch's build for CUDA needs becomes a lock of its own,
since no marker tells one build from the other. Needs the standard library, and uv beside this Python.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

from booktools.commands.install import CUDA_LOCK, LOCK, PINS, read

UV = (sys.executable, "-m", "uv", "pip", "compile", "--universal", "--python-version=3.11", "--generate-hashes")
LONG_PINS, LONG_LOCK = "requirements-long.txt", "requirements-long.lock"
"""What `make long` needs besides."""
HEAD = "# Written by make lock from the pins: every file that may be installed, by its SHA-256.\n"
FOR_CUDA = r"nvidia-|cuda-|triton$"
NOT_OURS = r"sys_platform == '(win32|emscripten)'|implementation_name == 'pypy'"


def blocks(lock: str) -> dict[str, str]:
    """Returns the lines of each package in a lock, by its name: version, marker and hashes."""
    return {name: text for text, name in re.findall(r"^(([\w.-]+)==.*\n(?: .*\n)*)", lock, re.M)}


def split(resolved: str, long: Collection[str]) -> dict[str, str]:
    """Returns each lock by its name, of what uv resolved: for all, for PyTorch's build for CUDA, and for ``long``."""
    parts = {LOCK: [HEAD], CUDA_LOCK: [HEAD], LONG_LOCK: [HEAD]}
    for name, text in blocks(resolved).items():
        if not re.search(NOT_OURS, text):
            parts[CUDA_LOCK if re.match(FOR_CUDA, name) else LONG_LOCK if name in long else LOCK].append(text)
    return {name: "".join(texts) for name, texts in parts.items()}


def main() -> int:
    """Writes the locks into the working folder; returns uv's exit status, which has said what is wrong."""
    command = [*UV, "--quiet", "--no-header", "--no-annotate", PINS, LONG_PINS]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode == 0:
        for name, text in split(done.stdout, read(LONG_PINS)).items():
            Path(name).write_text(text, encoding="utf-8")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
