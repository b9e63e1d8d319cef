"""Arrays whose operators are enqueued, and the calls that wait because they need a value."""

from __future__ import annotations

import operator
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from itertools import accumulate, islice
from time import perf_counter
from typing import Any

import numpy as np
import torch

from dlperf.device import synchronize
from dlperf.engine.scheduler import Scheduler, Variable


def _deferred(fn: Callable[..., Any], name: str = "") -> Callable[..., Array]:
    return lambda self, *others: self.engine.call(fn, self, *others, name=name)


def _in_place(fn: Callable[..., Any]) -> Callable[..., Array]:
    return lambda self, *others: self.engine.update(fn, self, *others)


class Array(Variable):
    """A tensor or NumPy array that may not be computed yet. Operators enqueue; whatever shows a value waits."""

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
    __iadd__, __isub__ = _in_place(operator.iadd), _in_place(operator.isub)
    __imul__, __itruediv__ = _in_place(operator.imul), _in_place(operator.itruediv)
    sum, norm = _deferred(lambda a: a.sum(), "sum"), _deferred(lambda a: (a * a).sum() ** 0.5, "norm")

    def to(self, device: str | torch.device) -> Array:
        """Returns a copy on another of the engine's devices, which makes it."""
        target = torch.device(device)
        copy = lambda a: a.to(target, copy=True) if isinstance(a, torch.Tensor) else a.copy()
        return self.engine.call(copy, self, device=device, name="copy")

    def _read(self, fn: Callable[[Any], Any], name: str) -> Any:
        return self.engine.wait(self, fn=lambda: fn(self._value), name=name)

    def asnumpy(self) -> np.ndarray:
        """Returns a copy of the value, when it is there."""
        return self._read(lambda a: torch.as_tensor(a).detach().cpu().numpy().copy(), "asnumpy")

    def item(self) -> Any:
        """Returns the only element as a Python number, when it is there."""
        return self._read(lambda a: a.item(), "item")

    def __bool__(self) -> bool:
        return self._read(bool, "bool")

    def __float__(self) -> float:
        return self._read(float, "float")

    def __repr__(self) -> str:
        return self._read(repr, "print")


class Engine(Scheduler):
    """A `Scheduler` for arrays, which also records the memory that their values take."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._live: dict[int, tuple[weakref.ref, int]] = {}
        self._changes: deque[tuple[float, int]] = deque(maxlen=self.history.maxlen)

    def array(self, value: Any, device: str | torch.device = "") -> Array:
        """Returns a tensor or NumPy array (or what makes a tensor) as an array; leave it to the engine afterwards."""
        device = str(device or self.devices[0])
        value = value if isinstance(value, (torch.Tensor, np.ndarray)) else torch.tensor(value)
        if isinstance(value, torch.Tensor) and (value.is_cuda or device.startswith("cuda")):
            value = value.to(device)
            synchronize(value.device)
        return self._fill(Array(self, device), value)

    def call(self, fn: Callable[..., Any], *args: Any, device: str | torch.device = "", name: str = "") -> Array:
        """Returns at once the array that ``fn(*args)`` will be, on ``device`` or the first array's.

        ``fn`` changes no argument. A result in an argument's memory is copied, or nobody would know of it.
        """
        arrays = [a for a in args if isinstance(a, Array)]
        result = Array(self, str(device or (arrays[0].device if arrays else self.devices[0])))

        def run() -> None:
            value = fn(*_values(args))
            value = value if isinstance(value, torch.Tensor) else np.asarray(value)
            if any(_memory(value) is _memory(a._value) for a in arrays):
                value = value.clone() if isinstance(value, torch.Tensor) else value.copy()
            self._fill(result, value)

        self.enqueue(run, arrays, [result], result.device, name or getattr(fn, "__name__", "call"))
        return result

    def update(self, fn: Callable[..., Any], x: Array, *args: Any, name: str = "") -> Array:
        """Returns ``x`` at once; ``fn(x, *args)`` will change it in place."""
        reads = [x, *(a for a in args if isinstance(a, Array))]
        name = name or getattr(fn, "__name__", "update")
        self.enqueue(lambda: fn(*_values((x, *args))), reads, [x], x.device, name)
        return x

    def wait_to_read(self, *arrays: Array) -> None:
        """Waits until ``arrays`` hold what has been enqueued for them."""
        self.wait(*arrays, name="wait_to_read")

    def _fill(self, array: Array, value: Any) -> Array:
        ref = weakref.ref(_memory(value), self._release)
        size = value.untyped_storage().nbytes() if isinstance(value, torch.Tensor) else value.nbytes
        self._live[id(ref)] = ref, size
        self._changes.append((perf_counter(), size))
        array._value = value
        return array

    def _release(self, ref: weakref.ref) -> None:
        self._changes.append((perf_counter(), -self._live.pop(id(ref))[1]))

    def live_bytes(self) -> list[tuple[float, int]]:
        """Returns the bytes that arrays hold after each change, with its `time.perf_counter` in seconds."""
        changes, live = list(self._changes), sum(size for _, size in list(self._live.values()))
        totals = accumulate((change for _, change in changes), initial=live - sum(change for _, change in changes))
        return [(moment, total) for (moment, _), total in zip(changes, islice(totals, 1, None), strict=True)]


def _values(args: Iterable[Any]) -> list[Any]:
    return [a._value if isinstance(a, Array) else a for a in args]


def _memory(value: Any) -> Any:
    """Returns the object that lives as long as the memory of a tensor or NumPy array, shared by its views."""
    if isinstance(value, torch.Tensor):
        return value.untyped_storage()
    return value if value.base is None else _memory(value.base)
