"""Launching: a function called in a process for each device, as `torchrun` does it, from a script or a notebook.

PyTorch's elastic launcher starts the processes and follows what they write. What is added here: answers come back,
the first failure is raised with its rank and its traceback, and nothing hangs or is left behind, whatever happens.
The chapter *Training on multiple GPUs, from scratch* tells its story.

    launch(train, 2, batch)  # train(rank, 2, batch) in each process, a function of a module

For one call this is all that is needed; for many calls in a row, `dlperf.multigpu.group` keeps its processes.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch
from torch.distributed.elastic.multiprocessing import (
    DefaultLogsSpecs,
    PContext,
    SignalException,
    Std,
    start_processes,
)

from dlperf.device import is_gpu
from dlperf.forked import end_with_parent
from dlperf.multigpu.group import device_of, join
from dlperf.workers import WorkerError, name_of, own_cores

POLL = 0.05
"""So many seconds pass at most until an answer or a failure is seen; a process that ends is seen at once."""

HOLD = 60.0
"""So many seconds a process that has failed waits to be ended: were it gone, its neighbours would fail after it."""

BEFORE = " before it began: does the script launch under if __name__ == '__main__'?"
"""What to look at where a process ends at once: it imports the script, and must not launch in turn."""


def launch(fn: Callable[..., Any], world_size: int, *args: Any, timeout: float = 300.0) -> list[Any]:
    """Returns ``fn(rank, world_size, *args)`` of so many processes, in order of rank.

    Each has a device of its own and belongs to one process group; on a CPU, it has one thread and, where there are
    enough, one core. What they write appears on ``sys.stdout`` and ``sys.stderr``, each line with its rank. Raises
    WorkerError with the traceback of the first that fails, and TimeoutError after ``timeout`` seconds; either way,
    and also when this process is killed, all end. ``fn`` is a function of a module; else TypeError.
    """
    if world_size < 1:
        raise ValueError(f"a launch needs at least one process, got world_size={world_size}")
    if not timeout > 0:
        raise ValueError(f"a time limit is a positive number of seconds, got {timeout}")
    call = _pickled(fn, args)
    with tempfile.TemporaryDirectory(prefix="launch-") as name:
        folder = Path(name)
        (folder / "call").write_bytes(call)
        context, processes = _start(world_size, folder)
        try:
            return _answers(processes, folder, world_size, name_of(fn), timeout)
        finally:
            _end(processes)
            context.close()  # returns when all that was written has been shown


def _pickled(fn: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    """Returns a call as bytes; TypeError says why other processes could not find its function."""
    here = sys.modules["__main__"]
    if getattr(fn, "__module__", None) == "__main__" and not hasattr(here, "__file__"):
        raise TypeError(f"other processes cannot see {name_of(fn)}, defined in a notebook: put it into a module")
    try:
        return pickle.dumps((fn, args))
    except Exception as error:  # pickle raises whatever the object does
        raise TypeError(f"{name_of(fn)} and its arguments must be sent to other processes: {error}") from error


def _start(world_size: int, folder: Path) -> tuple[PContext, dict[int, BaseProcess]]:
    """Returns the launcher's context, and each process by its rank; one that has ended already is lacking."""
    cores = [] if is_gpu(device_of(0, world_size)) else own_cores(world_size)
    ranks = range(world_size)
    others = {process.pid for process in multiprocessing.active_children()}
    try:
        with _signals_as_before(), _one_thread():
            context = start_processes(
                name="rank",
                entrypoint=_work,
                args={rank: (rank, world_size, str(folder), cores[rank] if cores else None) for rank in ranks},
                envs={rank: _environment(rank, world_size) for rank in ranks},
                logs_specs=DefaultLogsSpecs(str(folder / "logs"), tee=Std.ALL),
                log_line_prefixes={rank: f"[rank {rank}] " for rank in ranks},
            )
    except BaseException:  # some may have been started
        _end({i: each for i, each in enumerate(multiprocessing.active_children()) if each.pid not in others})
        raise
    rank_of = {pid: rank for rank, pid in context.pids().items()}
    alive = [process for process in multiprocessing.active_children() if process.pid in rank_of]
    return context, {rank_of[process.pid]: process for process in alive if process.pid is not None}


def _environment(rank: int, world_size: int) -> dict[str, str]:
    """Returns the variables by which `torchrun`, too, tells a process who it is; all are on one host."""
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(world_size),
        "LOCAL_WORLD_SIZE": str(world_size),
    }


@contextmanager
def _one_thread() -> Iterator[None]:
    """Has processes that are started in a block compute with one thread: libraries read it when they are loaded."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        yield
    finally:
        del os.environ["OMP_NUM_THREADS"]
        if before is not None:
            os.environ["OMP_NUM_THREADS"] = before


@contextmanager
def _signals_as_before() -> Iterator[None]:
    """Puts signal handlers back after a block: the elastic launcher leaves its own, which hide Ctrl-C in an error."""
    if threading.current_thread() is not threading.main_thread():
        yield  # which has no say in it
        return
    before = {number: signal.getsignal(number) for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}}
    came = None
    try:
        yield
    except SignalException as error:
        came = error.sigval
        raise
    finally:
        for number, handler in before.items():
            if handler is not None and handler is not signal.getsignal(number):
                signal.signal(number, handler)
        if came is not None:
            signal.raise_signal(came)


def _answers(
    processes: Mapping[int, BaseProcess], folder: Path, world_size: int, what: str, timeout: float
) -> list[Any]:
    """Returns what the processes answer; raises as soon as one has failed or ended, or the time is over."""
    end = time.monotonic() + timeout
    waiting = set(range(world_size))
    while waiting:
        wait([processes[rank].sentinel for rank in waiting if rank in processes], POLL)
        ended = {rank for rank in waiting if rank not in processes or not processes[rank].is_alive()}
        waiting -= {rank for rank in waiting if (folder / f"answer{rank}").exists()}
        failed = {rank: folder / f"failure{rank}" for rank in waiting if (folder / f"failure{rank}").exists()}
        for rank in sorted((ended & waiting) - set(failed)):  # the first: who raises keeps its place in the group
            begun = (folder / f"begun{rank}").exists()
            raise WorkerError("rank", rank, what, _last_act(processes.get(rank), begun))
        if failed:
            _, rank, why = min((*pickle.loads(file.read_bytes()),) for file in failed.values())
            raise WorkerError("rank", rank, what, why)
        if waiting and time.monotonic() > end:
            late = ", ".join(map(str, sorted(waiting)))
            raise TimeoutError(f"rank {late} did not answer within {timeout} s in {what}")
    return [pickle.loads((folder / f"answer{rank}").read_bytes()) for rank in range(world_size)]


def _last_act(process: BaseProcess | None, begun: bool) -> str:
    """Returns how a process ended that left no word."""
    code = process.exitcode if process else None
    if code is not None and code < 0:
        return f"its process was ended by {signal.Signals(-code).name}"
    return "its process ended" + ("" if code is None else f" with exit code {code}") + ("" if begun else BEFORE)


def _end(processes: Mapping[int, BaseProcess]) -> None:
    """Ends processes and what they have started, whatever they are at."""
    for process in processes.values():
        assert process.pid is not None
        with suppress(OSError):  # it has no group of its own yet, or nothing is left of it
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
    for process in processes.values():
        process.join()


def _work(rank: int, world_size: int, name: str, core: int | None) -> None:
    """Calls what lies in the folder, and leaves its answer or its failure there."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    assert parent.pid is not None
    end_with_parent(parent.pid)
    os.setpgrp()  # Ctrl-C goes to the launcher, which ends this process and what it starts
    folder = Path(name)
    (folder / f"begun{rank}").touch()
    torch.set_num_threads(1)
    if core is not None:
        os.sched_setaffinity(0, {core})
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    try:
        fn, args = pickle.loads((folder / "call").read_bytes())
        join(rank, world_size, str(folder / "store"))
        _leave(folder / f"answer{rank}", pickle.dumps(fn(rank, world_size, *args)))
    except BaseException:  # of whatever kind: there is nobody else to tell
        _leave(folder / f"failure{rank}", pickle.dumps((time.monotonic_ns(), rank, traceback.format_exc())))
        time.sleep(HOLD)
        os._exit(1)


def _leave(file: Path, content: bytes) -> None:
    """Writes a file which is whole as soon as it is there."""
    partial = file.with_suffix(".part")
    partial.write_bytes(content)
    partial.rename(file)
