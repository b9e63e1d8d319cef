"""Start and kill local processes of a cluster, with their output appended to a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from dlperf import forked


def start(program: Callable[..., int | None], *arguments: Any, said: Path) -> BaseProcess:
    """Returns a process that calls a function of a module, with one thread for its operators, and ends with this one.

    Its exit code is what the function returns. What it writes is added to the file ``said``. Ctrl-C is not for it.
    """
    process = forked.process(_run, (program, arguments, said))
    process.start()
    return process


def end(process: BaseProcess) -> None:
    """Ends a process at once, whatever it is at (SIGKILL), and returns when it has ended."""
    process.kill()
    process.join()


def _run(program: Callable[..., int | None], arguments: tuple[Any, ...], said: Path) -> int | None:
    nothing, file = os.open(os.devnull, os.O_RDONLY), os.open(said, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for number, stream in enumerate((nothing, file, file)):
        os.dup2(stream, number)
    return program(*arguments)
