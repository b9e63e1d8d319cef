"""Measure the overhead of dispatching an operation from Python and C++, and the size at which work exceeds it."""

from __future__ import annotations

import ctypes
import functools
import math
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from dlperf.device import is_gpu, synchronize
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.native import build, libtorch_options
from dlperf.turns import columns

LOOP = """
#include <ATen/ops/add.h>
#include <ATen/ops/ones.h>
#include <chrono>

extern "C" double add(long elements, long calls, const char* where) {
  const auto device = at::device(at::Device(where));
  const at::Tensor x = at::ones({elements}, device);
  const at::Tensor one = at::ones({}, device);
  at::add(x, one);
  const auto start = std::chrono::steady_clock::now();
  for (long call = 0; call < calls; ++call) at::add(x, one);
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  return seconds.count() / calls;
}
"""
"""The loop of `add_in_python` without Python: the same function of the same library, called from C++."""


@functools.cache
def _loop() -> Callable[[int, int, bytes], float]:
    function = ctypes.CDLL(str(build(LOOP, *libtorch_options(), "-shared", "-fPIC"))).add
    function.argtypes, function.restype = (ctypes.c_long, ctypes.c_long, ctypes.c_char_p), ctypes.c_double
    return function


def _some(calls: int) -> None:
    if calls < 1:
        raise ValueError(f"seconds per call need at least one call, got {calls}")


def add_in_cpp(elements: int, calls: int, device: torch.device) -> float:
    """Returns the seconds per call until C++ has asked for an addition to ``elements`` float32 numbers.

    On a CPU it is also done by then. Raises `CompilerError` without a C++ compiler, ValueError if ``calls`` is
    below 1.
    """
    _some(calls)
    return _loop()(elements, calls, str(device).encode())


def add_in_python(elements: int, calls: int, device: torch.device) -> tuple[float, float]:
    """Returns the seconds per call until Python has asked for such an addition, and until all are done.

    Raises ValueError if ``calls`` is below 1.
    """
    _some(calls)
    x, one = torch.ones(elements, device=device), torch.ones((), device=device)
    torch.add(x, one)
    synchronize(device)
    start = time.perf_counter()
    for _ in range(calls):
        torch.add(x, one)
    asked = time.perf_counter()
    synchronize(device)
    return (asked - start) / calls, (time.perf_counter() - start) / calls


def additions(elements: int, device: torch.device, repeats: int = 11, warm_up: float = 0.1) -> dict[str, Measurement]:
    """Returns the time per addition of 1 to ``elements`` numbers in s: asked for in C++, in Python, and ``done``.

    The loops take turns, for ``warm_up`` seconds before any of them counts. They are short enough for a GPU's queue,
    so that asking never waits for a place in it.
    """
    calls = 200 if is_gpu(device) else max(4, min(200, 2_000_000 // elements))

    def turn() -> dict[str, float]:
        synchronize(device)
        in_cpp = add_in_cpp(elements, calls, device)
        synchronize(device)
        in_python, done = add_in_python(elements, calls, device)
        return {"C++": in_cpp, "Python": in_python, "done": done}

    end = time.perf_counter() + warm_up
    while time.perf_counter() < end:
        turn()
    rows = [turn() for _ in range(repeats)]
    return columns(rows, dict.fromkeys(rows[0], "s"), environment(device), calls)


def crossover(times: Mapping[int, Measurement], factor: float = 2) -> tuple[int, float]:
    """Returns the largest size at which an operation takes less than ``factor`` times the least's time, and the next.

    From there on its work outweighs what it costs to ask for it. ``times`` is by size. The second is infinity if
    there is no larger one. Raises ValueError if ``factor`` is not above 1, or ``times`` is empty.
    """
    if not times or factor <= 1:
        raise ValueError(f"a factor above 1, of the time at the smallest size; got {factor} and {len(times)} sizes")
    sizes = sorted(times)
    limit = factor * times[sizes[0]].median
    below = max(n for n in sizes if times[n].median < limit)
    return below, min((n for n in sizes if n > below), default=math.inf)


def one_number() -> dict[str, Callable[[], Any]]:
    """Returns ways of adding 1 to a single number on the CPU, and of doing nothing."""
    x, one, y = torch.ones(1), torch.ones(()), torch.empty(1)
    weight, array = torch.ones(1, requires_grad=True), np.ones(1, dtype=np.float32)
    number = 1.0
    return {
        "Python: call a function": lambda: None,
        "Python: add numbers": lambda: number + 1.0,
        "NumPy: add arrays": lambda: array + array,
        "PyTorch: add into kept memory": lambda: torch.add(x, one, out=y),
        "PyTorch: add": lambda: torch.add(x, one),
        "PyTorch: x + one": lambda: x + one,
        "PyTorch: x + 1.0": lambda: x + 1.0,
        "PyTorch: add, recorded for a gradient": lambda: torch.add(weight, one),
    }
