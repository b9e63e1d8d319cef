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
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple, cast

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
from dlperf.multigpu.group import TIMEOUT_S, device_of, join
from dlperf.workers import WorkerError, name_of, own_cores

POLL_S = 0.05
"""Seconds between two looks for answers and failures; the end of a process is seen at once."""

GRACE_S = 2.0
"""Seconds to wait for the end of another process after a RuntimeError: a collective raises it when a peer has died."""

HOLD_S = 60.0
"""Seconds that a failed process waits to be ended: if it exited, its peers would fail too, and hide the cause."""

GUARD_HINT = " before it began: does the script launch under if __name__ == '__main__'?"
"""What to check where a process ends at once: it imports the script, which must not launch again."""


class Failure(NamedTuple):
    """An exception in a process; the first in time is the smallest."""

    time_ns: int
    rank: int
    traceback: str
    peer_may_have_died: bool


def launch(fn: Callable[..., Any], world_size: int, *args: Any, timeout: float = TIMEOUT_S) -> list[Any]:
    """Returns ``fn(rank, world_size, *args)`` of ``world_size`` processes, in order of rank.

    Each has a device of its own and belongs to one process group; on a CPU, it has one thread and, where there are
    enough, one core. What they write appears on ``sys.stdout`` and ``sys.stderr``, each line with its rank. Raises
    WorkerError with the traceback of the first that fails, and TimeoutError after ``timeout`` seconds; either way,
    and also when this process is killed, all end. ``fn`` is a function of a module; else TypeError.
    """
    if world_size < 1:
        raise ValueError(f"a launch needs at least one process, got world_size={world_size}")
    if not timeout > 0:
        raise ValueError(f"a time limit is a positive number of seconds, got {timeout}")
    call = pickle_call(fn, args)
    with tempfile.TemporaryDirectory(prefix="launch-") as name:
        folder = Path(name)
        (folder / "call").write_bytes(call)
        context, processes = _start(world_size, folder)
        try:
            return _collect(processes, folder, world_size, name_of(fn), timeout)
        finally:
            _kill(processes)
            context.close()  # returns when all that was written has been shown


def pickle_call(fn: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    """Returns a call as bytes; raises TypeError where other processes could not find its function, or its arguments."""
    main = sys.modules["__main__"]
    if getattr(fn, "__module__", None) == "__main__" and not hasattr(main, "__file__"):
        raise TypeError(f"other processes cannot see {name_of(fn)}, defined in a notebook: put it into a module")
    try:
        return pickle.dumps((fn, args))
    except Exception as error:  # pickle raises whatever the object does
        raise TypeError(f"{name_of(fn)} and its arguments must be sent to other processes: {error}") from error


def _start(world_size: int, folder: Path) -> tuple[PContext, dict[int, BaseProcess]]:
    """Returns the launcher's context, and each process by its rank, but for those that have ended already."""
    cores = [] if is_gpu(device_of(0, world_size)) else own_cores(world_size)
    ranks = range(world_size)
    others = {process.pid for process in multiprocessing.active_children()}
    try:
        with _restored_signals(), _one_thread():
            context = start_processes(
                name="rank",
                entrypoint=_work,
                args={rank: (rank, world_size, str(folder), cores[rank] if cores else None) for rank in ranks},
                envs={rank: _environment(rank, world_size) for rank in ranks},
                logs_specs=DefaultLogsSpecs(str(folder / "logs"), tee=Std.ALL),
                log_line_prefixes={rank: f"[rank {rank}] " for rank in ranks},
            )
    except BaseException:  # some may have been started
        _kill({i: each for i, each in enumerate(multiprocessing.active_children()) if each.pid not in others})
        raise
    rank_of = {pid: rank for rank, pid in context.pids().items()}
    alive = [process for process in multiprocessing.active_children() if process.pid in rank_of]
    return context, {rank_of[process.pid]: process for process in alive if process.pid is not None}


def _environment(rank: int, world_size: int) -> dict[str, str]:
    """Returns the variables by which `torchrun` gives a process its rank; all processes are on one host."""
    return {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": str(world_size),
        "LOCAL_WORLD_SIZE": str(world_size),
    }


@contextmanager
def _one_thread() -> Iterator[None]:
    """Has processes that start in a block compute with one thread: libraries read the variable when they load."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        yield
    finally:
        del os.environ["OMP_NUM_THREADS"]
        if before is not None:
            os.environ["OMP_NUM_THREADS"] = before


@contextmanager
def _restored_signals() -> Iterator[None]:
    """Restores signal handlers after a block: the elastic launcher leaves its own, which hide Ctrl-C in an error."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python handles signals in the main thread alone
        return
    before = {number: signal.getsignal(number) for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}}
    received = None
    try:
        yield
    except SignalException as error:
        received = error.sigval
        raise
    finally:
        for number, handler in before.items():
            if handler is not None and handler is not signal.getsignal(number):
                signal.signal(number, handler)
        if received is not None:
            signal.raise_signal(received)


def _collect(
    processes: Mapping[int, BaseProcess], folder: Path, world_size: int, what: str, timeout: float
) -> list[Any]:
    """Returns the answers of all processes; raises as soon as one has failed or ended, or the time is over."""
    deadline = time.monotonic() + timeout
    waiting = set(range(world_size))
    while waiting:
        _ended(processes, waiting, POLL_S)
        failures = read_failures(folder, waiting)
        follows = bool(failures) and failures[0].peer_may_have_died
        ended = _ended(processes, waiting, GRACE_S if follows else 0)  # looked for after the failure that it caused
        waiting -= {rank for rank in waiting if (folder / f"answer{rank}").exists()}
        for rank in sorted((ended & waiting) - {failure.rank for failure in failures}):
            begun = (folder / f"begun{rank}").exists()
            raise WorkerError("rank", rank, what, describe_end(_exit_code(processes.get(rank)), begun))
        if failures:
            raise WorkerError("rank", failures[0].rank, what, failures[0].traceback)
        if waiting and time.monotonic() > deadline:
            late = ", ".join(map(str, sorted(waiting)))
            raise TimeoutError(f"rank {late} did not answer within {timeout} s in {what}")
    return [pickle.loads((folder / f"answer{rank}").read_bytes()) for rank in range(world_size)]


def _ended(processes: Mapping[int, BaseProcess], ranks: Collection[int], seconds: float) -> set[int]:
    """Returns which of these ranks have ended, as soon as one has, or after so many seconds."""
    lost = {rank for rank in ranks if rank not in processes}
    sentinels = {processes[rank].sentinel: rank for rank in ranks if rank in processes}
    ready = {sentinels[cast(int, each)] for each in wait(sentinels, 0 if lost else seconds)}
    # a sentinel is ready before the process can be waited for, but not where a child of it holds the other end
    return lost | ready | {rank for rank in sentinels.values() if not processes[rank].is_alive()}


def read_failures(folder: Path, ranks: Collection[int]) -> list[Failure]:
    """Returns the failures that these ranks have left in a folder, the first in time first."""
    files = [folder / f"failure{rank}" for rank in ranks]
    return sorted(Failure(*pickle.loads(file.read_bytes())) for file in files if file.exists())


def _exit_code(process: BaseProcess | None) -> int | None:
    """Returns the exit code of a process that has ended, None where it is unknown."""
    if process is not None:
        process.join(HOLD_S)  # its last system calls may still be under way
    return process.exitcode if process else None


def describe_end(exit_code: int | None, begun: bool) -> str:
    """Returns how a process ended that left neither an answer nor a failure; ``begun`` if it had read its call."""
    if exit_code is not None and exit_code < 0:
        return f"its process was ended by {signal.Signals(-exit_code).name}"
    code = "" if exit_code is None else f" with exit code {exit_code}"
    return f"its process ended{code}" + ("" if begun else GUARD_HINT)


def _kill(processes: Mapping[int, BaseProcess]) -> None:
    """Ends processes and what they have started, whatever they are at."""
    for process in processes.values():
        assert process.pid is not None
        with suppress(OSError):  # it has no group of its own yet, or nothing is left of it
            os.killpg(process.pid, signal.SIGKILL)
        process.kill()
    for process in processes.values():
        process.join()


def _work(rank: int, world_size: int, name: str, core: int | None) -> None:
    """Makes the call that lies in the folder, and leaves its answer or its failure there."""
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
        _write(folder / f"answer{rank}", pickle.dumps(fn(rank, world_size, *args)))
    except BaseException as error:  # SystemExit too: peers would wait for this rank
        failure = Failure(time.monotonic_ns(), rank, traceback.format_exc(), isinstance(error, RuntimeError))
        _write(folder / f"failure{rank}", pickle.dumps(tuple(failure)))
        time.sleep(HOLD_S)
        os._exit(1)


def _write(file: Path, content: bytes) -> None:
    """Writes a file that is complete as soon as it exists."""
    partial = file.with_suffix(".part")
    partial.write_bytes(content)
    partial.rename(file)
