"""Arrays whose operators are enqueued, the calls that wait because they need a value, and the memory of it all."""

from __future__ import annotations

import operator
import weakref
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
import torch

from dlperf.asynchrony.engine.operations import Variable
from dlperf.asynchrony.engine.scheduler import Device, Scheduler
from dlperf.device import has_cuda, is_gpu, synchronize


def _deferred(fn: Callable[..., Any], name: str = "") -> Callable[..., Array]:
    return lambda self, *others: self.engine.call(fn, self, *others, name=name)


def _in_place(fn: Callable[..., Any]) -> Callable[..., Array]:
    return lambda self, *others: self.engine.update(fn, self, *others)


def _blocking(fn: Callable[[Any], Any], name: str) -> Callable[[Array], Any]:
    return lambda self: self.engine.wait(self, fn=lambda: fn(self._value), name=name)


class Array(Variable):
    """A tensor that may not be computed yet. Operators enqueue; whatever shows a value waits.

    ``asnumpy()`` copies the value into a NumPy array, ``item()`` returns its only element.
    """

    __array_ufunc__ = None  # NumPy leaves mixed operators to us

    def __init__(self, engine: Engine, device: str) -> None:
        super().__init__()
        self.engine, self.device, self._value = engine, device, None

    __add__ = __radd__ = _deferred(operator.add)
    __sub__, __rsub__ = _deferred(operator.sub), _deferred(lambda a, b: b - a, "sub")
    __mul__ = __rmul__ = _deferred(operator.mul)
    __truediv__, __rtruediv__ = _deferred(operator.truediv), _deferred(lambda a, b: b / a, "truediv")
    __matmul__, __gt__ = _deferred(operator.matmul), _deferred(operator.gt)
    sum, norm = _deferred(lambda a: a.sum(), "sum"), _deferred(lambda a: (a * a).sum() ** 0.5, "norm")

    __iadd__, __isub__ = _in_place(operator.iadd), _in_place(operator.isub)
    __imul__, __itruediv__ = _in_place(operator.imul), _in_place(operator.itruediv)

    __repr__, __bool__, __float__ = _blocking(repr, "print"), _blocking(bool, "bool"), _blocking(float, "float")
    asnumpy = _blocking(lambda a: a.detach().cpu().numpy().copy(), "asnumpy")
    item = _blocking(lambda a: a.item(), "item")

    def to(self, device: Device) -> Array:
        """Returns a copy on another of the engine's devices, which makes it."""
        return self.engine.call(lambda value: value.to(device, copy=True), self, device=device, name="copy")


class Engine(Scheduler):
    """A `Scheduler` for arrays, which also records the memory that their values take."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._changes, self._totals = deque[Any](), list[tuple[float, int]]()  # of the bytes, not yet in the totals

    def array(self, value: Any, device: Device = "") -> Array:
        """Returns what makes a tensor, such as a NumPy array, as an array; leave it to the engine afterwards."""
        array = Array(self, str(device or self.devices[0]))
        value = torch.as_tensor(value)
        moved = value.to("cpu" if array.device.startswith("cpu") else array.device)
        for gpu in {tensor.device for tensor in (value, moved) if is_gpu(tensor.device)}:
            if has_cuda(gpu):
                torch.cuda.current_stream(gpu).synchronize()  # not the device: our own streams go on
            else:
                synchronize(gpu)
        return self._fill(array, moved)

    def call(self, fn: Callable[..., Any], *args: Any, device: Device = "", name: str = "") -> Array:
        """Returns at once the array that ``fn(*args)`` will be, on ``device`` or the first array's.

        ``fn`` changes no argument. A result in an argument's memory is copied, or nobody would know of it.
        """
        reads = [a for a in args if isinstance(a, Array)]
        result = Array(self, str(device or (reads[0].device if reads else self.devices[0])))

        def run() -> None:
            value = fn(*map(_value, args))
            value = value if isinstance(value, torch.Tensor) else torch.tensor(np.asarray(value))
            shared = any(value.untyped_storage() is _value(a).untyped_storage() for a in reads)
            self._fill(result, value.clone() if shared else value)

        self.enqueue(run, reads, [result], result.device, name or getattr(fn, "__name__", "call"))
        return result

    def update(self, fn: Callable[..., Any], x: Array, *args: Any, name: str = "") -> Array:
        """Returns ``x`` at once; ``fn(x, *args)`` will change it in place."""
        reads = [x, *(a for a in args if isinstance(a, Array))]
        run = lambda: fn(*map(_value, (x, *args)))
        self.enqueue(run, reads, [x], x.device, name or getattr(fn, "__name__", "update"))
        return x

    wait_to_read = Scheduler.wait  # as MXNet calls it

    def live_bytes(self) -> list[tuple[float, int]]:
        """Returns the bytes that arrays hold after each change, after its `time.perf_counter` in seconds.

        Beyond about ``history`` moments it is thinned; its peak stays.
        """
        with self._room:
            totals = self._totals
            for moment, change in [self._changes.popleft() for _ in range(len(self._changes))]:
                totals.append((moment, change + (totals[-1][1] if totals else 0)))
            if len(totals) > (self.history.maxlen or 0):  # the higher of each two stays, and the last
                totals[:-1] = [max(totals[i : i + 2], key=lambda point: point[1]) for i in range(0, len(totals) - 1, 2)]
            return totals.copy()

    def _fill(self, array: Array, value: Any) -> Array:
        memory, array._value = value.untyped_storage(), value
        _note(self._changes, memory.nbytes())
        weakref.finalize(memory, _note, self._changes, -memory.nbytes()).atexit = False
        if len(self._changes) > 1000:
            self.live_bytes()
        return array


def _note(changes: deque, size: int) -> None:  # the garbage collector calls it anywhere: it takes no lock
    changes.append((perf_counter(), size))


def _value(argument: Any) -> Any:
    argument = argument._value if isinstance(argument, Array) else argument
    return torch.as_tensor(argument) if isinstance(argument, np.ndarray) else argument
