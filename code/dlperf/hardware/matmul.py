"""Measure the throughput of matrix multiplication on the CPU by data type and library, against an FMA loop."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from dlperf import timing
from dlperf.hardware.minimum import quickest, seconds
from dlperf.hardware.probe import probe
from dlperf.hardware.processor import fma_loop
from dlperf.measurement import Measurement

SIZE = 1024
"""Rows and columns of the factors; a type for which the processor has no instruction gets a quarter."""


def integers(n: int) -> Callable[[], torch.Tensor]:
    """Returns a product of 8-bit whole numbers, summed in 32 bits."""
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randint(-128, 128, (n, n), dtype=torch.int8, generator=generator) for _ in range(2))
    return partial(torch._int_mm, a, b)


def floats(n: int, dtype: torch.dtype) -> Callable[[], torch.Tensor]:
    """Returns a product of matrices of this type."""
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(n, n, generator=generator).to(dtype) for _ in range(2))
    return partial(torch.mm, a, b)


def by_onednn(n: int) -> Callable[[], torch.Tensor]:
    """Returns a float32 product of matrices as a linear layer of oneDNN, PyTorch's other library.

    It brings the weights into an order of its own, once.
    """
    from torch.utils.mkldnn import to_mkldnn

    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(n, n, generator=generator) for _ in range(2))
    layer = torch.nn.Linear(n, n, bias=False).requires_grad_(False).eval()
    layer.weight.copy_(b.T)
    return partial(to_mkldnn(layer), a.to_mkldnn())


MAKERS: dict[str, Callable[[int], Callable[[], torch.Tensor]]] = {
    "float64": lambda n: floats(n, torch.float64),
    "float32": lambda n: floats(n, torch.float32),
    "float32, oneDNN": by_onednn,
    "bfloat16": lambda n: floats(n, torch.bfloat16),
    "float16": lambda n: floats(n, torch.float16),
    "int8": integers,
}
"""The products by name; each makes its factors of so many rows and columns."""


def fitting(make: Callable[[int], Callable[[], torch.Tensor]]) -> tuple[Callable[[], torch.Tensor], int] | None:
    """Returns a product and its size, a quarter of `SIZE` where `SIZE` would take long; None where there is none."""
    try:
        small = make(SIZE // 4)
        slow = 4**3 * seconds(small, tries=3) > 0.2
        return (small, SIZE // 4) if slow else (make(SIZE), SIZE)
    except (RuntimeError, ImportError, AttributeError):  # not for this processor, or no longer in PyTorch
        return None


def rates(threads: int, repeats: int = 7) -> dict[str, Measurement]:
    """Returns the operations per second of the products that this PyTorch computes on the CPU, by name.

    The ``FMA loop`` on one thread is measured in turn with them, so that their ratios mean something.
    """
    loop, amount = fma_loop()
    made = {name: found for name, make in MAKERS.items() if (found := fitting(make))}
    runs: dict[str, Callable[[], object]] = {"FMA loop": loop, **{name: run for name, (run, _) in made.items()}}
    amounts = {"FMA loop": amount, **{name: 2 * n**3 for name, (_, n) in made.items()}}
    times = quickest(runs, repeats, tries=3, threads=threads)
    return {name: m.per_second(amounts[name], "FLOP") for name, m in times.items()}


@probe("matrix product, float32", assumes="PyTorch's library and as many threads as PyTorch uses")
def product_probe() -> Measurement:
    """Returns the FLOP/s of a float32 product on the CPU."""
    times = timing.measure(floats(SIZE, torch.float32), "product", repeats=9, device="cpu")
    return times.per_second(2 * SIZE**3, "FLOP")


PROBES = (product_probe,)
