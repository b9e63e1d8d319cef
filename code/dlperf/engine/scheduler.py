"""The scheduler: an operation runs on its device once all that it reads and writes is ready."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from itertools import islice
from queue import SimpleQueue
from time import perf_counter
from typing import Any

import torch

from dlperf.device import try_all_gpus

FRONT_END = "front end"
"""The device of a wait: it is run by the thread that waits."""


class Variable:
    """What one engine's operations read and write: it knows its last writer and who has read it since."""

    __slots__ = ("__weakref__", "readers", "writer")

    def __init__(self) -> None:
        self.writer: Operation | None = None
        self.readers: list[Operation] = []


class Operation:
    """Work in the queue and, once ``done``, the record of it.

    ``after`` says which operations it follows, by ``number``, and why: RAW, WAR or WAW. ``enqueued``,
    ``start`` and ``end`` are seconds of `time.perf_counter`. ``error`` is what it raised, or what an
    operation whose result it reads did.
    """

    def __init__(self, engine: Scheduler, fn: Callable[[], Any] | None, name: str, device: str) -> None:
        self.engine, self.fn, self.name, self.device = engine, fn, name, device
        self.queue = engine._queues.get(device) or SimpleQueue()
        self.number, self.after = 0, dict[int, str]()
        self.enqueued = self.start = self.end = perf_counter()
        self.sources: list[Operation] = []  # whose results it reads
        self.followers: list[Operation] = []  # who waits for it
        self.missing = 0  # for how many it still waits
        self.done, self.error = False, None  # type: bool, BaseException | None
        frames = traceback.walk_stack(sys._getframe(2))  # to format them now would cost more than all the rest
        self.caller = [(frame.f_code, line) for frame, line in islice(frames, 8)]

    def origin(self) -> str:
        """Returns the traceback of where it was enqueued, without this package's own frames."""
        frames = [(code.co_filename, line, code.co_name, None) for code, line in reversed(self.caller)]
        outside = [frame for frame in frames if os.path.dirname(frame[0]) != os.path.dirname(__file__)]
        return f"{self.name} was enqueued here:\n{''.join(traceback.StackSummary.from_list(outside).format())}"


class Scheduler:
    """Runs operations in any safe order, with one thread per device, at most ``depth`` of them unfinished.

    Operations may enqueue more, which then never blocks; they may not wait. ``history`` holds the last ones.
    The end of a ``with`` block closes it, and so does the interpreter's exit; its threads also end when
    nothing refers to it any more. In a forked process it starts with an empty queue.
    """

    def __init__(
        self, devices: Sequence[str | torch.device] = (), depth: float = float("inf"), history: int = 100_000
    ) -> None:
        if depth < 1:
            raise ValueError(f"depth counts operations from 1, got {depth}")
        self.devices = [str(torch.device(device)) for device in devices or try_all_gpus()]
        self.depth, self.history = depth, deque[Operation](maxlen=history)
        self._count = self._cancelled = 0  # operations numbered up to _cancelled no longer begin
        self._closed = False
        self._reset()
        _engines.add(self)

    def _reset(self) -> None:
        self._lock = threading.RLock()
        self._room = threading.Condition(self._lock)
        self._pending, self._waits = dict[Operation, None](), dict[Operation, None]()  # in order, unfinished
        self._failures: dict[int, BaseException] = {}  # that no wait has raised yet
        self._queues: dict[str, SimpleQueue] = {device: SimpleQueue() for device in self.devices}
        self._threads: list[threading.Thread] = []

    def enqueue(
        self,
        fn: Callable[[], Any],
        reads: Sequence[Variable] = (),
        writes: Sequence[Variable] = (),
        device: str | torch.device = "",
        name: str = "",
    ) -> Operation:
        """Returns at once the operation that will call ``fn`` on ``device``, by default the first.

        ``fn`` may touch what others write only as ``reads`` and ``writes`` say. Where an operation whose
        result it reads fails, it is skipped and fails alike. ValueError for a device that the engine
        does not have, RuntimeError once it is closed.
        """
        device = str(device or self.devices[0])
        if device not in self._queues:
            raise ValueError(f"this engine has no device {device}; it has {', '.join(self.devices)}")
        op = Operation(self, fn, name or getattr(fn, "__name__", type(fn).__name__), device)
        with self._lock:
            while len(self._pending) >= self.depth and not self._inside():
                self._room.wait()
            if self._closed and not self._inside():
                raise RuntimeError(f"cannot enqueue {op.name}: the engine is closed")
            if not self._threads:
                self._start()
            self._pending[op] = None
            try:
                self._link(op, reads, writes)
            except BaseException as error:  # interrupted, or no variables: nothing must wait for it
                self._finish(op, error)
                raise
        return op

    def _inside(self) -> bool:
        return threading.current_thread() in self._threads

    def _start(self) -> None:
        for device, queue in self._queues.items():
            self._threads.append(threading.Thread(target=_work, args=(queue, device), name=device, daemon=True))
            self._threads[-1].start()
            weakref.finalize(self, queue.put, None).atexit = False

    def _link(
        self, op: Operation, reads: Sequence[Variable], writes: Sequence[Variable], after: Iterable[Operation] = ()
    ) -> None:
        """Finds what ``op`` has to follow; its device gets it when all of that is done, which may be now."""
        before = dict.fromkeys(after, "wait")
        for variable in writes:
            before.update((reader, "WAR") for reader in variable.readers)
            if variable.writer:
                before[variable.writer] = "WAW"
        for variable in reads:
            if variable.writer:
                before[variable.writer] = "RAW"
                op.sources.append(variable.writer)
            variable.readers.append(op)
            if len(variable.readers) % 1024 == 0:  # what is read for ever, such as a weight, must not grow
                variable.readers = [reader for reader in variable.readers if not reader.done]
        for variable in writes:
            variable.writer, variable.readers = op, []
        self._count = op.number = self._count + 1
        self.history.append(op)
        for other, why in before.items():
            op.after[other.number] = why
            if not other.done:
                other.followers.append(op)
                op.missing += 1
        if not op.missing:
            op.queue.put(op)

    def _run(self, op: Operation, stream: Any = None) -> Any:
        """Returns what ``op`` returns, then lets its followers go. Not run: what is cancelled or reads a failure."""
        result = None
        error = next((source.error for source in op.sources if source.error), None)
        if op.device != FRONT_END and op.number <= self._cancelled:
            error = CancelledError(f"{op.name} was cancelled before it began")
        elif op.fn and not error:
            try:
                result = op.fn()
                if stream:
                    stream.synchronize()
            except BaseException as raised:
                error = raised
                if op.device != FRONT_END:
                    error.add_note(op.origin())
                    self._failures[op.number] = error
        op.end = perf_counter()
        self._finish(op, error)
        return result

    def _finish(self, op: Operation, error: BaseException | None = None) -> None:
        op.fn = None  # what it held is free before anyone hears that it is done
        with self._lock:
            op.error, op.done = error, True
            for follower in op.followers:
                follower.missing -= 1
                if not follower.missing:
                    follower.queue.put(follower)
            op.followers, op.sources = [], []
            (self._waits if op.device == FRONT_END else self._pending).pop(op, None)
            self._room.notify()

    def wait(self, *reads: Variable, fn: Any = None, name: str = "wait", after: Iterable[Operation] = ()) -> Any:
        """Returns ``fn()``, called in this thread after all enqueued writes to ``reads``, and before later ones.

        Raises what failed on the way there, with a note that says where it was enqueued.
        """
        if self._inside():
            raise RuntimeError(f"{name} in an operation: it would hold up the thread that it may be waiting for")
        op = Operation(self, fn, name, FRONT_END)
        try:
            with self._lock:
                self._waits[op] = None
                self._link(op, reads, (), after)
            op.queue.get()
            result = self._run(op)
        finally:
            if not op.done:  # interrupted
                self._finish(op)
        if op.error:
            for number in [n for n, error in list(self._failures.items()) if error is op.error]:
                self._failures.pop(number, None)
            raise op.error
        return result

    def waitall(self) -> None:
        """Waits until nothing is unfinished; raises the earliest failure that no wait has raised yet."""
        while self._pending:
            self.wait(name="waitall", after=self._pending)
        if self._failures:
            raise self._failures.pop(min(self._failures))

    def cancel(self) -> None:
        """Drops what has not begun: to wait for what it would have written raises CancelledError."""
        self._cancelled = self._count

    def close(self) -> None:
        """Finishes what is enqueued, ends the threads, and raises as `waitall` does; closing twice is fine."""
        self.wait(name="close")  # refused in an operation
        self._closed = True
        try:
            self.waitall()
        finally:
            while self._pending:  # interrupted: what has not begun is given up
                self.cancel()
                self.wait(after=self._pending)
            for thread in self._threads:
                self._queues[thread.name].put(None)
                thread.join()
            self._threads = []

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind:
            self.cancel()
        with suppress(*[Exception] if kind else []):  # the block's own exception is the one to show
            self.close()


def _work(queue: SimpleQueue, device: str) -> None:
    """Runs what becomes ready on a device; on a GPU in a stream of its own, and until that is done."""
    stream = torch.cuda.Stream(device) if device.startswith("cuda") else None
    with torch.cuda.stream(stream):  # None changes nothing
        while op := queue.get():
            op.start = perf_counter()
            op.engine._run(op, stream)
            del op  # an idle thread keeps nothing alive


_engines: weakref.WeakSet[Scheduler] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for engine in list(_engines):
        try:
            engine.close()
        except BaseException:
            traceback.print_exc()


def _forked() -> None:
    for engine in list(_engines):
        for op in [*engine._pending, *engine._waits]:
            op.error, op.done, op.fn = CancelledError(f"{op.name} stayed in the process that forked"), True, None
        engine._reset()


if hasattr(os, "register_at_fork"):  # Windows cannot fork
    os.register_at_fork(after_in_child=_forked)
