"""The performance model: operations cost arithmetic, memory traffic, and the overhead of asking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch

from dlperf.device import is_gpu
from dlperf.environment import cache_bytes, memory_bytes
from dlperf.measurement import Measurement
from dlperf.timing import measure


def product_flops(b: int, d: int, f: int) -> int:
    """Returns the FLOPs of a ``(b, d)`` by ``(d, f)`` product: a multiplication and an addition per term, 2bdf."""
    return 2 * b * d * f


def product_bytes(b: int, d: int, f: int, itemsize: int = 4) -> int:
    """Returns the fewest bytes that the product can move: each factor read once, the result written once."""
    return itemsize * (b * d + d * f + b * f)


def intensity(b: int, d: int, f: int, itemsize: int = 4) -> float:
    """Returns the arithmetic intensity of a ``(b, d)`` by ``(d, f)`` product in FLOPs per byte."""
    return product_flops(b, d, f) / product_bytes(b, d, f, itemsize)


@dataclass(frozen=True)
class Machine:
    """``peak`` in FLOP/s, ``bandwidth`` in B/s, ``overhead`` in s.

    The roofline model of Williams, Waterman and Patterson (2009), with
    overhead added for each operation. A device with a queue is asked for
    the next operation while it does the last one. See the chapter
    *Measuring performance*.
    """

    peak: float
    bandwidth: float
    overhead: float
    queued: bool = False

    @property
    def ridge(self) -> float:
        """The FLOPs per byte at which computing takes as long as moving."""
        return self.peak / self.bandwidth

    def costs(self, flops: float, moved: float) -> dict[str, float]:
        """Returns the seconds of each cost alone; ``moved`` is in bytes."""
        return {
            "overhead": self.overhead,
            "memory": moved / self.bandwidth,
            "compute": flops / self.peak,
        }

    def predict(self, flops: float, moved: float) -> float:
        """Returns the predicted seconds of one of many calls."""
        cost = self.costs(flops, moved)
        work = max(cost["memory"], cost["compute"])  # these overlap
        if self.queued:
            return max(cost["overhead"], work)
        return cost["overhead"] + work

    def regime(self, flops: float, moved: float) -> str:
        """Returns the longest: ``overhead``, ``memory`` or ``compute``."""
        cost = self.costs(flops, moved)
        return max(cost, key=cost.__getitem__)


def add_one(elements: int, device: torch.device | str) -> Callable[[], object]:
    """Returns a function that adds 1 to ``elements`` float32 numbers: 1 FLOP and 8 bytes for each."""
    x, one = torch.ones(elements, device=device), torch.ones((), device=device)  # a Python 1 would be wrapped each time
    y = torch.empty_like(x)
    return lambda: torch.add(x, one, out=y)


def multiply(b: int, d: int, f: int, device: torch.device | str) -> Callable[[], object]:
    """Returns a function that multiplies float32 matrices ``(b, d)`` and ``(d, f)`` into memory kept for it."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(b, d, generator=generator).to(device)
    w = torch.randn(d, f, generator=generator).to(device)
    y = torch.empty(b, f, device=device)
    return lambda: torch.mm(x, w, out=y)


def uncached(device: torch.device | str) -> int:
    """Returns how many float32 numbers do not fit the caches of ``device``: two such arrays fill them eight times.

    On a CPU they never fill more than a quarter of the memory.
    """
    if is_gpu(device):
        return 2**28
    return min(max(2**27, cache_bytes()), (memory_bytes() or 2**33) // 32)


def calibrate(
    device: torch.device | str, elements: int | None = None, n: int | None = None, repeats: int = 10
) -> dict[str, Measurement]:
    """Returns three measurements: ``peak`` (FLOP/s), ``bandwidth`` (B/s) and ``overhead`` (s) of ``device``.

    Peak is what a product of ``n`` rows and columns reaches, bandwidth what an addition to so many ``elements``
    reaches, overhead what an operation on one number takes: attained values, not a data sheet's.
    """
    n = n or (8192 if is_gpu(device) else 1024)
    elements = elements or uncached(device)
    clock = partial(measure, repeats=repeats, device=device)
    return {
        "peak": clock(multiply(n, n, n, device), "peak").per_second(product_flops(n, n, n), "FLOP"),
        "bandwidth": clock(add_one(elements, device), "bandwidth").per_second(8 * elements, "B"),
        "overhead": clock(add_one(1, device), "overhead"),
    }


def machine(parts: dict[str, Measurement], device: torch.device | str) -> Machine:
    """Returns the model of ``device`` whose three numbers are the medians that `calibrate` measured."""
    return Machine(parts["peak"].median, parts["bandwidth"].median, parts["overhead"].median, is_gpu(device))
