"""What it costs to write into memory that the operating system has just handed out, and how to be spared it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable

import torch

from dlperf import timing
from dlperf.counters import page_faults
from dlperf.hardware.probe import Unknown
from dlperf.measurement import Measurement

LENGTH = 2**24
"""Numbers of float32 in an array: 64 MiB, which no allocator keeps by itself."""


def price(repeats: int = 9) -> tuple[dict[str, Measurement], float]:
    """Returns the seconds of an addition into ``new`` memory and into memory ``kept`` for it; faults per call."""
    x, y, out = (torch.ones(LENGTH) for _ in range(3))
    ways: dict[str, Callable[[], object]] = {"new": lambda: x + y, "kept": lambda: torch.add(x, y, out=out)}
    return timing.compare(ways, repeats=repeats, device="cpu"), page_faults(ways["new"], calls=3)


def price_with_large_pages() -> tuple[dict[str, Measurement], float]:
    """Returns `price` in a process in which PyTorch asks for pages of 2 MiB; `Unknown` where there are none.

    Source: https://github.com/pytorch/pytorch/pull/107697.
    """
    if sys.platform != "linux":
        raise Unknown("PyTorch asks for large pages on Linux only")
    code = (
        "import json; from dlperf.hardware import page_faults as p; times, faults = p.price();"
        "print(json.dumps([{name: m.to_json() for name, m in times.items()}, faults]))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, "THP_MEM_ALLOC_ENABLE": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    if done.returncode:
        raise Unknown(f"the process with large pages failed: {done.stderr.strip()[-300:]}")
    times, faults = json.loads(done.stdout)
    return {name: Measurement.from_json(m) for name, m in times.items()}, faults
