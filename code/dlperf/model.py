"""The performance model: operations cost arithmetic, memory traffic, and the overhead of asking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

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
    """A device: ``peak`` in FLOP/s, ``bandwidth`` in B/s, ``overhead`` in s.

    The roofline model of Williams, Waterman and Patterson (2009), with overhead
    added for each operation. See the chapter *Measuring performance*.
    """

    peak: float
    bandwidth: float
    overhead: float

    @property
    def ridge(self) -> float:
        """The FLOPs per byte at which computing takes as long as moving."""
        return self.peak / self.bandwidth

    def costs(self, flops: float, moved: float) -> dict[str, float]:
        """Returns the seconds of each cost alone; ``moved`` is in bytes."""
        memory, compute = moved / self.bandwidth, flops / self.peak
        return {"overhead": self.overhead, "memory": memory, "compute": compute}

    def predict(self, flops: float, moved: float) -> float:
        """Returns the predicted seconds: arithmetic and traffic overlap."""
        cost = self.costs(flops, moved)
        return cost["overhead"] + max(cost["memory"], cost["compute"])

    def regime(self, flops: float, moved: float) -> str:
        """Returns the longest: ``overhead``, ``memory`` or ``compute``."""
        cost = self.costs(flops, moved)
        return max(cost, key=cost.__getitem__)


def add_one(elements: int, device: torch.device | str) -> Callable[[], object]:
    """Returns a function that adds 1 to ``elements`` float32 numbers: 1 FLOP and 8 bytes for each."""
    x = torch.ones(elements, device=device)
    y = torch.empty_like(x)
    return lambda: torch.add(x, 1, out=y)


def multiply(b: int, d: int, f: int, device: torch.device | str) -> Callable[[], object]:
    """Returns a function that multiplies float32 matrices ``(b, d)`` and ``(d, f)`` into memory kept for it."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(b, d, generator=generator).to(device)
    w = torch.randn(d, f, generator=generator).to(device)
    y = torch.empty(b, f, device=device)
    return lambda: torch.mm(x, w, out=y)


def calibrate(
    device: torch.device | str, elements: int = 2**25, n: int = 1024, repeats: int = 10
) -> dict[str, Measurement]:
    """Returns three measurements: ``peak`` (FLOP/s), ``bandwidth`` (B/s) and ``overhead`` (s) of ``device``.

    Peak is what a large product reaches, bandwidth what a long addition reaches, overhead what an
    operation on one number takes: attained values, not a data sheet's.
    """
    on_gpu = torch.device(device).type == "cuda"
    n, elements = (8 * n, 8 * elements) if on_gpu else (n, elements)
    return {
        "peak": measure(multiply(n, n, n, device), "peak", repeats=repeats).per_second(product_flops(n, n, n), "FLOP"),
        "bandwidth": measure(add_one(elements, device), "bandwidth", repeats=repeats).per_second(8 * elements, "B"),
        "overhead": measure(add_one(1, device), "overhead", repeats=repeats),
    }


def machine(parts: dict[str, Measurement]) -> Machine:
    """Returns the model whose three numbers are the medians that `calibrate` measured."""
    return Machine(parts["peak"].median, parts["bandwidth"].median, parts["overhead"].median)
