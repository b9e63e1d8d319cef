"""Where operations fall under this machine's roofline: arithmetic and bytes by formula, time by the clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.functional import conv2d, layer_norm

from dlperf import timing
from dlperf.device import is_gpu
from dlperf.environment import cache_bytes, memory_bytes
from dlperf.hardware.minimum import quickest
from dlperf.measurement import Measurement

FLOPS_PER_ELEMENT = {"add": 1, "gelu": 5, "summation": 1, "softmax": 5, "layer norm": 8}
"""As the definitions have it, an exponential or an error function counted as one: GELU is x / 2 (1 + erf(x / √2));
softmax a maximum, a difference, an exponential, a sum and a quotient; layer normalization a mean (1), a variance (3),
normalizing (2), scale and shift (2)."""

BYTES_PER_ELEMENT = {"add": 12, "gelu": 8, "summation": 4, "softmax": 8, "layer norm": 8}
"""The fewest that float32 can do with: each input read once, each output written once."""


@dataclass(frozen=True)
class Roof:
    """The two ceilings of a device: ``peak`` in FLOP/s and ``bandwidth`` in B/s.

    Source: Williams, Waterman and Patterson, Roofline, 2009.
    """

    peak: float
    bandwidth: float

    @property
    def ridge(self) -> float:
        """The FLOPs per byte at which computing takes as long as moving."""
        return self.peak / self.bandwidth

    def rate(self, intensity: float) -> float:
        """Returns the FLOP/s that an operation of so many FLOPs per byte cannot exceed."""
        return min(self.peak, self.bandwidth * intensity)

    def bound(self, intensity: float) -> str:
        """Returns what limits the rate: ``memory`` or ``compute``."""
        return "memory" if intensity < self.ridge else "compute"


@dataclass(frozen=True)
class Operation:
    """Something to do, its arithmetic in FLOPs, and the fewest bytes that it can move."""

    name: str
    flops: float
    moved: float
    run: Callable[[], object]

    @property
    def intensity(self) -> float:
        """The FLOPs per byte."""
        return self.flops / self.moved

    def share(self, time: Measurement, roof: Roof) -> Measurement:
        """Returns the fraction of the roofline that a measured time attains."""
        most = roof.rate(self.intensity)
        samples = tuple(self.flops / t / most for t in time.samples)
        return Measurement(samples, "1", self.name, environment=time.environment)


def convolution_flops(images: int, channels: int, filters: int, side: int, kernel: int) -> int:
    """Returns the FLOPs of a convolution whose output is as large as its input: 2 for each weight and output."""
    return 2 * images * filters * side * side * channels * kernel * kernel


def elements(device: torch.device | str) -> int:
    """Returns how many float32 numbers an array needs to be twice as large as the caches; 2**24 at least."""
    if is_gpu(device):
        return 2**26
    return min(max(2**24, cache_bytes() // 2), max(2**20, (memory_bytes() or 2**33) // 256))


def random(*size: int, device: torch.device | str) -> torch.Tensor:
    """Returns normal random numbers, as a GPU may keep a higher clock with equal ones, whose bits do not turn.

    All threads write ones first: on a CPU with several memories each then has its share of the pages.
    """
    return torch.ones(*size, device=device).normal_()


def elementwise(device: torch.device | str, width: int = 1024) -> list[Operation]:
    """Returns operations on long arrays: results go to memory kept for them, but for those that say otherwise."""
    rows = elements(device) // width
    x, y, out = (torch.ones(rows, width, device=device) for _ in range(3))
    scale, shift = torch.ones(width, device=device), torch.zeros(width, device=device)
    aten: Any = torch.ops.aten
    runs: dict[str, Callable[[], object]] = {
        "add": lambda: torch.add(x, y, out=out),
        "add, new memory": lambda: x + y,
        "gelu": lambda: aten.gelu.out(x, out=out),
        "summation": lambda: x.sum(),
        "softmax": lambda: torch.softmax(x, -1, out=out),
        "layer norm, new memory": lambda: layer_norm(x, [width], scale, shift),
    }
    n = rows * width
    kinds = {name: name.split(",")[0] for name in runs}
    return [Operation(k, FLOPS_PER_ELEMENT[v] * n, BYTES_PER_ELEMENT[v] * n, runs[k]) for k, v in kinds.items()]


def products(device: torch.device | str, shapes: dict[str, tuple[int, int, int]]) -> list[Operation]:
    """Returns float32 products of matrices of these shapes, (b, d) by (d, f): 2bdf FLOPs each."""

    def product(b: int, d: int, f: int) -> Callable[[], object]:
        left, right, out = (random(*size, device=device) for size in ((b, d), (d, f), (b, f)))
        return lambda: torch.mm(left, right, out=out)

    return [
        Operation(name, 2 * b * d * f, 4 * (b * d + d * f + b * f), product(b, d, f))
        for name, (b, d, f) in shapes.items()
    ]


def convolution(device: torch.device | str, images: int = 8, channels: int = 128, side: int = 28) -> Operation:
    """Returns a convolution with 3 × 3 pixels and as many filters as channels.

    Its FLOPs are those of the definition. A library may need fewer: Lavin and Gray, Fast algorithms for convolutional
    neural networks, 2016.
    """
    x = random(images, channels, side, side, device=device)
    w = random(channels, channels, 3, 3, device=device)
    moved = 4 * (2 * x.numel() + w.numel())

    def run() -> torch.Tensor:
        # a GPU that rounds to fewer bits is above the roof; without enabled=True this would turn cuDNN off
        with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
            return conv2d(x, w, padding=1)

    return Operation("convolution", convolution_flops(images, channels, channels, side, 3), moved, run)


def operations(device: torch.device | str) -> list[Operation]:
    """Returns the book's operations, from little to much arithmetic for each byte.

    Those that memory bounds have a matrix of as many elements as the long arrays, which no cache holds.
    """
    large, long = 8 if is_gpu(device) else 1, elements(device)
    shapes = {
        "product, one row": (1, long // 4096, 4096),
        "product, 16 rows": (16, long // 4096, 4096),
        "product, thin": (long // 64, 64, 64),
        "product, square": (1024 * large, 1024 * large, 1024 * large),
    }
    found = elementwise(device) + products(device, shapes) + [convolution(device, 8 * large * large)]
    return sorted(found, key=lambda each: each.intensity)


def movers(device: torch.device | str) -> list[Operation]:
    """Returns a sum, a copy and a triad, z = x + 3y, of arrays that fit no cache, and the bytes that each must move.

    The fastest gives the bandwidth: what another does above it, it would have from nowhere.
    """
    n = elements(device)
    x, y, z = (torch.ones(n, device=device) for _ in range(3))
    return [
        Operation("read", n, 4 * n, lambda: x.sum()),
        Operation("copy", 0, 8 * n, lambda: z.copy_(x)),
        Operation("triad", 2 * n, 12 * n, lambda: torch.add(x, y, alpha=3, out=z)),
    ]


def measured(
    run: Sequence[Operation], device: torch.device | str, repeats: int = 7, threads: int | None = None
) -> dict[str, Measurement]:
    """Returns the seconds of each operation, all measured in turn; on a CPU the quickest of three for each sample."""
    calls = {op.name: op.run for op in run}
    if torch.device(device).type == "cpu":
        return quickest(calls, repeats, tries=3, threads=threads)
    return timing.compare(calls, repeats=repeats, device=device, max_seconds=12)
