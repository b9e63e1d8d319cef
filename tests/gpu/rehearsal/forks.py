"""Many short programs on simulated GPUs: a process that has imported PyTorch forks for each."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import traceback
from contextlib import AbstractContextManager
from typing import Any

LIMIT = 600
"""Seconds after which a program is taken to hang, and ended."""


class Forks(AbstractContextManager):
    """The process to fork from, in the environment ``given``; a context manager."""

    def __init__(self, given: dict[str, str]) -> None:
        self.given = given

    def __enter__(self) -> Forks:
        self._process = subprocess.Popen(
            [sys.executable, __file__], env=self.given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        return self

    def run(self, program: str, mutant: tuple[str, int] | None = None) -> str:
        """Returns the traceback with which a program ended, or an empty string; ``mutant`` as in `waits`."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({"program": program, "mutant": mutant}) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


def _child(job: dict[str, Any]) -> str:
    signal.alarm(LIMIT)
    if job["mutant"]:
        from rehearsal import waits

        waits.delete(*job["mutant"])
    try:
        exec(compile(job["program"], "<program>", "exec"), {"__name__": "__main__"})
    except BaseException:
        return traceback.format_exc()
    return ""


def serve() -> None:
    """Answers each line of the input, a program, with the error that it made."""
    import torch

    torch.set_num_threads(1)  # a process with threads of its own should not fork
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        read, write = os.pipe()
        if pid := os.fork():
            os.close(write)
            with open(read, encoding="utf-8") as pipe:
                said = pipe.read()
            os.waitpid(pid, 0)
            print(said or json.dumps("the process died"), file=answers, flush=True)
            continue
        os.close(read)
        with open(write, "w", encoding="utf-8") as pipe:
            pipe.write(json.dumps(_child(json.loads(line))))
        os._exit(0)


if __name__ == "__main__":
    serve()
