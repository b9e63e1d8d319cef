"""Arrays whose operators are enqueued, and the calls that wait because they need a value."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from dlperf.engine.memory import LiveBytes, memory_of
from dlperf.engine.operations import Variable
from dlperf.engine.scheduler import Device, Scheduler


def _deferred(fn: Callable[..., Any], name: str = "") -> Callable[..., Array]:
    return lambda self, *others: self.engine.call(fn, self, *others, name=name)


def _in_place(fn: Callable[..., Any]) -> Callable[..., Array]:
    return lambda self, *others: self.engine.update(fn, self, *others)


def _blocking(fn: Callable[[Any], Any], name: str) -> Callable[[Array], Any]:
    return lambda self: self.engine.wait(self, fn=lambda: fn(self._value), name=name)


class Array(Variable):
    """A tensor or NumPy array that may not be computed yet. Operators enqueue; whatever shows a value waits.

    ``asnumpy()`` copies the value into a NumPy array, ``item()`` returns its only element.
    """

    __slots__ = ("_value", "device", "engine")
    __array_ufunc__ = None  # NumPy leaves mixed operators to us

    def __init__(self, engine: Engine, device: str) -> None:
        super().__init__()
        self.engine, self.device, self._value = engine, device, None

    __add__ = __radd__ = _deferred(operator.add)
    __sub__, __rsub__ = _deferred(operator.sub), _deferred(lambda a, b: b - a, "sub")
    __mul__ = __rmul__ = _deferred(operator.mul)
    __truediv__, __rtruediv__ = _deferred(operator.truediv), _deferred(lambda a, b: b / a, "truediv")
    __matmul__, __neg__ = _deferred(operator.matmul), _deferred(operator.neg)
    __lt__, __gt__ = _deferred(operator.lt), _deferred(operator.gt)
    sum, norm = _deferred(lambda a: a.sum(), "sum"), _deferred(lambda a: (a * a).sum() ** 0.5, "norm")

    __iadd__, __isub__ = _in_place(operator.iadd), _in_place(operator.isub)
    __imul__, __itruediv__ = _in_place(operator.imul), _in_place(operator.itruediv)

    __repr__, __bool__, __float__ = _blocking(repr, "print"), _blocking(bool, "bool"), _blocking(float, "float")
    asnumpy = _blocking(lambda a: torch.as_tensor(a).detach().cpu().numpy().copy(), "asnumpy")
    item = _blocking(lambda a: a.item(), "item")

    def to(self, device: Device) -> Array:
        """Returns a copy on another of the engine's devices, which makes it."""
        return self.engine.call(_copy, self, torch.device(device), device=device, name="copy")


class Engine(Scheduler):
    """A `Scheduler` for arrays, which also records the memory that their values take."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._memory = LiveBytes(self.history.maxlen or 0)

    def array(self, value: Any, device: Device = "") -> Array:
        """Returns a tensor or NumPy array (or what makes a tensor) as an array; leave it to the engine afterwards."""
        array = Array(self, str(device or self.devices[0]))
        value = value if isinstance(value, (torch.Tensor, np.ndarray)) else torch.tensor(value)
        if isinstance(value, torch.Tensor) and (value.is_cuda or array.device.startswith("cuda")):
            value = _moved(value, array.device)
        return self._fill(array, value)

    def call(self, fn: Callable[..., Any], *args: Any, device: Device = "", name: str = "") -> Array:
        """Returns at once the array that ``fn(*args)`` will be, on ``device`` or the first array's.

        ``fn`` changes no argument. A result in an argument's memory is copied, or nobody would know of it.
        """
        reads = [a for a in args if isinstance(a, Array)]
        result = Array(self, str(device or (reads[0].device if reads else self.devices[0])))

        def run() -> None:
            value = fn(*map(_value, args))
            value = value if isinstance(value, torch.Tensor) else np.asarray(value)
            shared = any(memory_of(value) is memory_of(a._value) for a in reads)
            self._fill(result, _copy(value) if shared else value)

        self.enqueue(run, reads, [result], result.device, name or getattr(fn, "__name__", "call"))
        return result

    def update(self, fn: Callable[..., Any], x: Array, *args: Any, name: str = "") -> Array:
        """Returns ``x`` at once; ``fn(x, *args)`` will change it in place."""
        reads = [x, *(a for a in args if isinstance(a, Array))]
        name = name or getattr(fn, "__name__", "update")
        self.enqueue(lambda: fn(*map(_value, (x, *args))), reads, [x], x.device, name)
        return x

    def wait_to_read(self, *arrays: Array) -> None:
        """Waits until ``arrays`` hold what has been enqueued for them."""
        self.wait(*arrays, name="wait_to_read")

    def live_bytes(self) -> list[tuple[float, int]]:
        """Returns the bytes that arrays hold after each change, after its `time.perf_counter` in seconds.

        Beyond about ``history`` moments it is thinned; its peak stays.
        """
        with self._lock:
            return self._memory.totals()

    def _fill(self, array: Array, value: Any) -> Array:
        with self._lock:
            self._memory.add(value)
        array._value = value
        return array


def _value(argument: Any) -> Any:
    return argument._value if isinstance(argument, Array) else argument


def _moved(value: torch.Tensor, device: str) -> torch.Tensor:
    """Returns ``value`` on ``device`` once it is there, whatever else the GPUs, the engine's streams included, do."""
    moved = value.to(device)
    for place in {value.device, moved.device}:  # a copy between two GPUs is in the order of both streams
        if place.type == "cuda":
            torch.cuda.current_stream(place).synchronize()
    return moved


def _copy(value: Any, device: torch.device | None = None) -> Any:
    return value.to(device or value.device, copy=True) if isinstance(value, torch.Tensor) else value.copy()
