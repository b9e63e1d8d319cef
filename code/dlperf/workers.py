"""Crews of worker processes: each has a rank, one thread for its operators, and a core where the system can pin.

They call what they are sent, and whichever is ready first is read first. The first failure is raised at once, with
the worker's own traceback, and ends the crew; no worker outlives the process that started it. Nothing here imports
PyTorch: a worker has it if the module of a function that it is sent has.
"""

from __future__ import annotations

import os
import pickle
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from time import perf_counter
from typing import Any, Self, cast

from dlperf import forked
from dlperf.environment import pinnable_cores

START_DELAY_S = 0.005
"""So many seconds before they are to begin, workers are told: to wake up takes up to a millisecond."""


class WorkerError(RuntimeError):
    """The first failure among processes that worked together: the ``rank`` of the one that failed, and why."""

    def __init__(self, who: str, rank: int, what: str, why: str) -> None:
        super().__init__(f"{who} {rank} failed in {what}: {why}")
        self.rank = rank


class Workers(AbstractContextManager):
    """``world_size`` worker processes; worker ``rank`` is pinned to ``cores[rank % len(cores)]``; a context manager.

    Without ``cores`` the system places them. What they are sent is a function of a module. They end with the block, or
    with the program. After a failure, a time limit that has passed or an exception in the block, they are killed,
    whatever they are at.
    """

    def __init__(self, world_size: int, cores: Sequence[int] = ()) -> None:
        if world_size < 1:
            raise ValueError(f"a crew has at least one worker, got {world_size}")
        self.world_size, self.cores = world_size, list(cores)
        self.processes: list[BaseProcess] = []
        self._pipes: list[Connection] = []

    def __enter__(self) -> Self:
        try:
            for rank in range(self.world_size):
                near, far = Pipe()
                own = self.cores[rank % len(self.cores)] if self.cores else None
                process = forked.process(_work, (far, own), f"worker {rank}")
                process.start()
                far.close()  # or nobody would see that the worker has ended
                self.processes.append(process)
                self._pipes.append(near)
            self.map(_here, range(self.world_size))  # they are up
        except BaseException:
            self._kill()
            raise
        return self

    def run(self, fn: Callable[..., Any], *args: Any, timeout: float | None = None) -> list[Any]:
        """Returns ``fn(rank, *args)`` of every worker, in order.

        Raises WorkerError as soon as one fails, and TimeoutError after ``timeout`` seconds.
        """
        return self._call([(fn, (rank, *args)) for rank in range(self.world_size)], timeout)

    def map(self, fn: Callable[[Any], Any], items: Sequence[Any], timeout: float | None = None) -> list[Any]:
        """Returns ``fn(item)`` of each item, in order: one each for the first workers. Raises as `run` does."""
        if len(items) > self.world_size:
            raise ValueError(f"{self.world_size} workers take one item each, got {len(items)}")
        return self._call([(fn, (item,)) for item in items], timeout)

    def _call(self, calls: Sequence[tuple[Callable[..., Any], Any]], timeout: float | None) -> list[Any]:
        if not self._pipes:
            raise RuntimeError("these workers have ended, or were never started: they live as long as their block")
        messages = [pickle.dumps(call) for call in calls]
        try:
            return exchange(self._pipes, messages, "worker", name_of(calls[0][0]) if calls else "", timeout)
        except BaseException:  # the others may wait for ever for the one that failed
            self._kill()
            raise

    def _kill(self) -> None:
        for process in self.processes:
            process.kill()
        self._end()

    def _end(self) -> None:
        for pipe in self._pipes:
            pipe.close()
        self._pipes = []
        for process in self.processes:
            process.join()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._kill() if kind else self._end()


def own_cores(world_size: int) -> list[int]:
    """Returns a core for each of so many workers; none at all where there are too few, or the system cannot pin."""
    free = pinnable_cores()
    return free[:world_size] if len(free) >= world_size else []


def synchronized_start() -> float:
    """Returns the moment at which workers that are told now can begin together, by a clock that they all share."""
    return perf_counter() + START_DELAY_S


def wait_until(moment: float) -> None:
    """Returns at a moment of `time.perf_counter`; keeps the core busy, so that it is awake when work begins."""
    while perf_counter() < moment:
        pass


def exchange(
    pipes: Sequence[Connection], messages: Sequence[bytes], who: str, what: str, timeout: float | None = None
) -> list[Any]:
    """Returns what the processes at the other ends, each in `serve`, answer to pickled calls, in order.

    Whichever answers first is read first. Raises WorkerError, which says ``who`` failed in ``what``, as soon as one
    fails or has ended, and TimeoutError after ``timeout`` seconds; the others may then still be at work.
    """
    if timeout is not None and not timeout > 0:
        raise ValueError(f"a time limit is a positive number of seconds, or None for no limit; got {timeout}")
    end = None if timeout is None else time.monotonic() + timeout
    for pipe, message in zip(pipes, messages, strict=False):
        with suppress(OSError):  # it has ended, which reading will tell
            pipe.send_bytes(message)
    waiting = {pipe: rank for rank, pipe in enumerate(pipes[: len(messages)])}
    answers: list[Any] = [None] * len(messages)
    while waiting:
        ready = cast(list[Connection], wait(waiting, None if end is None else max(0.0, end - time.monotonic())))
        if not ready:
            late = ", ".join(map(str, waiting.values()))
            raise TimeoutError(f"{who} {late} did not answer within {timeout} s in {what}")
        for pipe in ready:
            rank = waiting.pop(pipe)
            try:
                fine, answers[rank] = pickle.loads(pipe.recv_bytes())
            except (EOFError, ConnectionResetError):
                fine, answers[rank] = False, "its process has ended"
            if not fine:
                raise WorkerError(who, rank, what, answers[rank])
    return answers


def serve(pipe: Connection) -> None:
    """Calls what comes over the pipe and sends back what it returns, or its traceback, until the other end closes."""
    with suppress(EOFError, OSError):
        while True:
            message = pipe.recv_bytes()
            try:
                fn, args = pickle.loads(message)
                answer = pickle.dumps((True, fn(*args)))  # not pipe.send: it would share a tensor's memory
            except Exception:
                answer = pickle.dumps((False, traceback.format_exc()))
            pipe.send_bytes(answer)


def name_of(fn: Callable[..., Any]) -> str:
    """Returns what a function is called, and of a `partial` what it shows."""
    return getattr(fn, "__name__", repr(fn))


def _work(pipe: Connection, core: int | None) -> None:
    """Serves in a process of its own, on one core."""
    if core is not None:
        os.sched_setaffinity(0, {core})
    serve(pipe)


def _here(rank: int) -> int:
    return rank
