"""Processes that begin at once: forked by one that has imported PyTorch, where the system can.

To import PyTorch takes a core more than a second, and programs that work together are many. Elsewhere than on Linux
each is spawned, and imports it.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from typing import Any

MODULES = (
    *("torch", "torch.distributed", "torch.distributed.tensor", "torch.distributed.fsdp"),
    *("torch.distributed.pipelining", "torch.nn.parallel", "zmq"),
)
"""What whoever forks imports, if the program has imported it when it first starts a process: it takes long."""

PR_SET_PDEATHSIG = 1
"""Linux's name for the signal that a process gets when the one that started it ends."""


def process(program: Callable[..., Any], arguments: Sequence[Any], name: str | None = None) -> BaseProcess:
    """Returns a process, not started yet, that calls a function of a module; it ends with this program, however that
    does. It has the environment of this moment, and one thread for its operators. Ctrl-C is not for it.
    """
    told = (program, arguments, dict(os.environ))
    return _context().Process(target=_begin, args=told, name=name, daemon=True)


@cache
def _context() -> Any:
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([name for name in MODULES if name in sys.modules])
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"  # who forks must have one thread
    try:
        forkserver.ensure_running()
    finally:
        del os.environ["OMP_NUM_THREADS"]
        if before is not None:
            os.environ["OMP_NUM_THREADS"] = before
    return context


def _begin(program: Callable[..., Any], arguments: Sequence[Any], environment: Mapping[str, str]) -> None:
    if sys.platform == "linux":
        os.close(forkserver._forkserver._forkserver_alive_fd)  # type: ignore[attr-defined]
        end_with_parent(os.getppid())  # whoever forks: it ends when nobody holds what was closed here
    parent = multiprocessing.parent_process()
    if parent is None or not parent.is_alive():  # it may have ended before we asked
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.clear()
    os.environ.update(environment, OMP_NUM_THREADS="1")
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)
    sys.exit(program(*arguments))


def end_with_parent(parent: int) -> None:
    """Has the kernel kill this process when the thread that started it ends, or ``parent``, its process, has ended.

    Not even a loop that never comes back to Python survives. Nothing happens where the system is not Linux; there a
    worker ends when it next asks for work.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it ended before we asked
            os._exit(1)
