"""Start and kill local processes of a cluster, with their output appended to a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from dlperf import forked


def start(
    program: Callable[..., int | None], *arguments: Any, said: Path, begins: Connection | None = None
) -> BaseProcess:
    """Returns a process that calls a function of a module, with one thread for its operators, and ends with this one.

    Its exit code is what the function returns. What it writes is added to the file ``said``. Ctrl-C is not for it.
    Before it calls the function, it sends its id to ``begins``, for `wait_until_begun`.
    """
    process = forked.process(_run, (program, arguments, said, begins))
    process.start()
    return process


def wait_until_begun(started: Sequence[BaseProcess], begun: Connection) -> None:
    """Returns when each process has begun with its function. Raises RuntimeError as soon as one has ended before."""
    waiting = {process.pid: process for process in started}
    while waiting:
        ready = wait([begun, *(process.sentinel for process in waiting.values())])
        ended = [pid for pid, process in waiting.items() if process.sentinel in ready]
        while begun.poll():
            waiting.pop(begun.recv())
        if any(pid in waiting for pid in ended):
            raise RuntimeError(
                "a process ended before it began; it says why above. Each process imports the script that starts it: "
                'there, what starts processes stands under `if __name__ == "__main__":`'
            )


def end(process: BaseProcess) -> None:
    """Ends a process at once, whatever it is at (SIGKILL), and returns when it has ended."""
    process.kill()
    process.join()


def _run(
    program: Callable[..., int | None], arguments: tuple[Any, ...], said: Path, begins: Connection | None
) -> int | None:
    if begins is not None:
        begins.send(os.getpid())
        begins.close()
    nothing, file = os.open(os.devnull, os.O_RDONLY), os.open(said, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for number, stream in enumerate((nothing, file, file)):
        os.dup2(stream, number)
    return program(*arguments)
