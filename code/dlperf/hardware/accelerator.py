"""Measure a GPU or CPU: matrix products by type and size, memory bandwidth, kernel launches and bus transfers.

Everything here runs on a CPU too, except what needs a bus to cross. The chapter *Hardware* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import zip_longest
from typing import Any

import torch

from dlperf.device import describe, has_cuda, is_gpu, synchronize, try_gpu
from dlperf.hardware.probe import Unknown, probe
from dlperf.measurement import Measurement
from dlperf.timing import compare, measure


def product(n: int, dtype: torch.dtype, device: torch.device | str) -> Callable[[], Any]:
    """Returns a function that multiplies two matrices of ``n`` rows and columns into memory kept for it."""
    a = torch.randn(n, n, device=device).to(dtype)
    b = torch.randn(n, n, device=device).to(dtype)
    out = torch.empty(n, n, dtype=dtype, device=device)
    return partial(torch.mm, a, b, out=out)


def products(
    sizes: Sequence[int], dtypes: Sequence[torch.dtype], device: torch.device | str, repeats: int = 9
) -> dict[tuple[torch.dtype, int], Measurement]:
    """Returns FLOP/s by type and number of rows; the types alternate at each size.

    A type is tried at no size at which a product would take more than half a second, by what the size before took: a
    processor without units for it may need a thousand times as long as for float32.
    """
    found: dict[tuple[torch.dtype, int], Measurement] = {}
    left, ascending = list(dtypes), sorted(sizes)
    for n, larger in zip_longest(ascending, ascending[1:], fillvalue=0):
        if not left:
            break
        times = compare({str(d): product(n, d, device) for d in left}, repeats=repeats, max_seconds=5, device=device)
        found |= {(d, n): times[str(d)].per_second(2 * n**3, "FLOP") for d in left}
        left = [d for d in left if times[str(d)].median * (larger / n) ** 3 < 0.5]
    return found


def copies(sizes: Sequence[int], device: torch.device | str, repeats: int = 9) -> dict[int, Measurement]:
    """Returns the B/s, read and written together, at which arrays of so many bytes are copied within a device."""
    found = {}
    for size in sizes:
        x = torch.ones(size, dtype=torch.uint8, device=device)
        y = torch.zeros_like(x)
        found[size] = measure(partial(y.copy_, x), "copy", repeats=repeats, device=device).per_second(2 * size, "B")
    return found


def crossings(sizes: Sequence[int], device: torch.device, repeats: int = 9) -> dict[tuple[str, int], Measurement]:
    """Returns the seconds that so many bytes take across the bus, by way: ``to``/``from``, ``pinned``/``pageable``.

    Each copy is waited for. Raises `Unknown` where the device has no bus of its own.
    """
    _needs_bus(device)
    found: dict[tuple[str, int], Measurement] = {}
    for size in sizes:
        there = torch.zeros(size, dtype=torch.uint8, device=device)
        ways: dict[str, Callable[[], Any]] = {}
        for kind in ("pinned", "pageable"):
            here = torch.zeros(size, dtype=torch.uint8, pin_memory=kind == "pinned")
            ways[f"to {kind}"] = partial(there.copy_, here)
            ways[f"from {kind}"] = partial(here.copy_, there)
        found |= {(way, size): m for way, m in compare(ways, repeats=repeats, max_seconds=5, device=device).items()}
    return found


def launch(device: torch.device, kernels: int = 1000) -> dict[str, Measurement]:
    """Returns the seconds to enqueue one of many empty kernels, and to launch one and wait for its end.

    Raises `Unknown` where nothing is launched.
    """
    _needs_gpu(device)
    x = torch.zeros(1, device=device)

    def many() -> None:
        for _ in range(kernels):
            x.zero_()

    def once() -> None:
        x.zero_()
        synchronize(device)

    times = compare({"many": many, "once": once}, repeats=15, device=device)
    each = Measurement(tuple(t / kernels for t in times["many"].samples), "s", "launch", 1, times["many"].environment)
    return {"launch": each, "launch and wait": times["once"]}


def _needs_gpu(device: torch.device) -> None:
    if not is_gpu(device):
        raise Unknown("there is no GPU: nothing is launched, and no bus lies between the processor and its memory")


def _needs_bus(device: torch.device) -> None:
    _needs_gpu(device)
    if not has_cuda(device):
        raise Unknown(f"copies to and from pinned memory need a CUDA device, and this is {describe(device)}")


@probe("GPU: product of matrices, bfloat16", "8192 rows, by PyTorch: what programs attain, not what the silicon could")
def gpu_product() -> Measurement:
    """Returns the FLOP/s of a large bfloat16 product on the first GPU."""
    _needs_gpu(try_gpu())
    return products([8192], [torch.bfloat16], try_gpu())[torch.bfloat16, 8192]


@probe("GPU: memory", "a copy of a gibibyte, read and written, from more than its caches hold")
def gpu_memory() -> Measurement:
    """Returns the B/s at which the first GPU copies its own memory."""
    _needs_gpu(try_gpu())
    return copies([2**30], try_gpu())[2**30]


@probe("GPU: launch a kernel and wait", "an empty kernel on an idle GPU, waited for by the processor")
def gpu_launch() -> Measurement:
    """Returns the seconds from the call of an empty kernel until it is known to have ended."""
    return launch(try_gpu())["launch and wait"]


@probe("GPU: 1 MiB from pinned memory", "one copy at a time, waited for")
def gpu_mebibyte() -> Measurement:
    """Returns the seconds that a mebibyte takes to a GPU."""
    return crossings([2**20], try_gpu())["to pinned", 2**20]


PROBES = (gpu_product, gpu_memory, gpu_launch, gpu_mebibyte)
