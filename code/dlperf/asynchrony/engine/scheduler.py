"""The scheduler: an operation runs on its device once all that it reads and writes is ready."""

from __future__ import annotations

import atexit
import os
import threading
import traceback
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from queue import SimpleQueue
from time import perf_counter
from typing import Any, TypeAlias

import torch

from dlperf.asynchrony.engine.operations import FRONT_END, Operation, Variable, dependencies, to_raise
from dlperf.device import has_cuda, is_gpu, synchronize, try_all_gpus

Device: TypeAlias = str | torch.device
Variables: TypeAlias = Sequence[Variable]


@dataclass(frozen=True)
class Whole:
    """A GPU whose streams PyTorch does not offer: to wait for an operation is to wait for all that it was given."""

    device: str

    def synchronize(self) -> None:
        """Waits for the device."""
        synchronize(self.device)


Stream: TypeAlias = torch.cuda.Stream | Whole | None
"""What an operation has to be waited for on a device; None on a CPU, which is done when the call returns."""


class Scheduler(AbstractContextManager):
    """Runs operations in any safe order, with one thread per device, at most ``depth`` of them unfinished.

    Operations may enqueue more, which then never blocks; they may not wait. ``history`` holds the last ones.
    The end of a ``with`` block closes it, and so does the interpreter's exit; its threads also end when
    nothing refers to it any more. In a forked process it starts with an empty queue.
    """

    def __init__(self, devices: Sequence[Device] = (), depth: float = float("inf"), history: int = 100_000) -> None:
        if depth < 1:
            raise ValueError(f"depth counts operations from 1, got {depth}")
        self.devices = [str(torch.device(device)) for device in devices or try_all_gpus()]
        self.depth, self.history = depth, deque[Operation](maxlen=history)
        self._closed = False
        self._count = self._cancelled = 0  # operations numbered up to _cancelled no longer begin
        self._reset()
        _engines.add(self)

    def _reset(self) -> None:
        self._room = threading.Condition()  # notified when there is; its lock guards all the rest
        self._pending, self._waits = set[Operation](), set[Operation]()  # unfinished, on a device or the front end
        self._failed: dict[int, Operation] = {}  # whose error no wait has raised yet, by that error's id
        self._queues: dict[str, SimpleQueue] = {device: SimpleQueue() for device in self.devices}
        self._threads: dict[str, threading.Thread] = {}

    def enqueue(
        self,
        fn: Callable[[], Any],
        reads: Variables = (),
        writes: Variables = (),
        device: Device = "",
        name: str = "",
    ) -> Operation:
        """Returns at once the operation that will call ``fn``.

        Without a ``device`` it is called on the first. ``fn`` may touch
        what others write only as ``reads`` and ``writes`` say. Where an
        operation whose result it reads fails, it is skipped and fails
        alike. Raises ValueError if the engine has no such device,
        RuntimeError if it is closed.
        """
        device = str(device or self.devices[0])
        if device not in self._queues:
            known = ", ".join(self.devices)
            raise ValueError(f"no device {device} here, only {known}")
        name = name or getattr(fn, "__name__", type(fn).__name__)
        op = Operation(self, self._queues[device], fn, name, device)
        with self._room:
            while len(self._pending) >= self.depth and not self._inside():
                self._room.wait()
            if self._closed and not self._inside():
                raise RuntimeError(f"cannot enqueue {name}: closed engine")
            if len(self._threads) < len(self._queues):
                self._start()
            self._link(op, reads, writes)
        return op

    def _inside(self) -> bool:
        return threading.current_thread() in self._threads.values()

    def _start(self) -> None:  # all at once: at the interpreter's exit, when operations may still enqueue, none can
        for device in self._queues.keys() - self._threads.keys():
            stream = torch.cuda.Stream(device) if has_cuda(device) else Whole(device) if is_gpu(device) else None
            thread = threading.Thread(target=_work, args=(self._queues[device], stream), name=device, daemon=True)
            thread.start()
            self._threads[device] = thread
            weakref.finalize(self, self._queues[device].put, None).atexit = False

    def _link(self, op: Operation, reads: Variables, writes: Variables, after: Iterable[Operation] = ()) -> None:
        """Lets ``op`` follow what it has to, and later operations find it; it may be ready now."""
        try:
            op.follow(dict.fromkeys(after, "wait") | dependencies(reads, writes))
            (self._waits if op.device == FRONT_END else self._pending).add(op)
            self.history.append(op)
            for variable in reads:
                variable.readers.append(op)
                if len(variable.readers) % 1024 == 0:  # what is read for ever, such as a weight, must not grow
                    variable.readers = [reader for reader in variable.readers if not reader.done]
            for variable in writes:
                variable.writer, variable.readers = op, []
            self._count = op.number = self._count + 1  # last: if interrupted, it keeps its place and is cancelled
        finally:
            op.count_down()

    def _run(self, op: Operation, stream: Stream) -> None:
        """Calls what ``op`` is, then lets its followers go. Not called: what is cancelled or reads a failure."""
        op.start = perf_counter()
        if op.number <= self._cancelled:
            op.error = CancelledError(f"{op.name} was cancelled before it began")
        if op.fn and not op.error:
            try:
                try:
                    op.fn()
                finally:  # after a failure too: what a GPU still uses must not be freed
                    if stream:
                        stream.synchronize()
            except BaseException as error:
                op.fail(error)
                self._failed[id(error)] = op
        self._finish(op)

    def _finish(self, op: Operation) -> None:
        # what it held is free before anyone hears of it
        op.end, op.fn, op.sources = perf_counter(), None, []
        with self._room:
            op.done = True
            for follower in op.followers:
                follower.count_down()
            op.followers = []
            self._pending.discard(op)
            self._waits.discard(op)
            self._room.notify_all()

    def wait(self, *reads: Variable, fn: Any = None, name: str = "wait_to_read", after: Iterable[Any] = ()) -> Any:
        """Returns ``fn()``, called in this thread after all enqueued writes to ``reads``, and before later ones.

        Raises what failed on the way there, with a note that says where it was enqueued.
        """
        if self._inside():
            raise RuntimeError(f"{name} in an operation: it would hold up the thread that it may be waiting for")
        op = Operation(self, SimpleQueue(), None, name, FRONT_END)
        try:
            with self._room:
                self._link(op, reads, (), after)
            op.queue.get()
            self._raise(op.error)
            return fn() if fn else None
        finally:
            self._finish(op)  # also when interrupted: nothing waits for it any more

    def _raise(self, error: BaseException | None) -> None:
        if error:
            with suppress(Exception):  # raised before, or it takes no notes
                error.add_note(self._failed.pop(id(error)).origin())
            raise to_raise(error)

    def waitall(self) -> None:
        """Waits until nothing is unfinished; raises the earliest failure that no wait has raised yet."""
        while self._pending:
            self.wait(name="waitall", after=self._pending)
        for op in sorted(self._failed.values(), key=lambda op: op.number):
            self._raise(op.error)

    def cancel(self) -> None:
        """Drops what has not begun: to wait for what it would have written raises CancelledError."""
        self._cancelled = self._count

    def close(self) -> None:
        """Finishes what is enqueued, ends the threads, and raises as `waitall` does; closing twice is fine."""
        self.wait(name="close")  # refused in an operation
        with self._room:
            self._closed = True
        try:
            self.waitall()
        finally:
            while self._pending:  # interrupted: what has not begun is given up
                self.cancel()
                self.wait(after=self._pending)
            for device, thread in self._threads.items():
                self._queues[device].put(None)
                thread.join()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind:
            self.cancel()
        with suppress(*[Exception] if kind else []):  # the block's own exception is the one to show
            self.close()


def _work(queue: SimpleQueue, stream: Stream) -> None:
    """Runs what becomes ready on a device; on a GPU in a stream of its own, and until that is done."""
    own = torch.cuda.stream(stream) if isinstance(stream, torch.cuda.Stream) else nullcontext()  # no CUDA, no question
    with own:
        while op := queue.get():
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
        for op in engine._pending | engine._waits:
            op.error, op.done, op.fn = CancelledError(f"{op.name} stayed in the process that forked"), True, None
        engine._reset()


if hasattr(os, "register_at_fork"):  # Windows cannot fork
    os.register_at_fork(after_in_child=_forked)
