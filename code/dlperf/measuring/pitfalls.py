"""The gallery of wrong benchmarks: each mistake beside its right twin, measured on the same calls where that can be."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import itemgetter
from statistics import median
from typing import Any

import numpy as np
import torch

from dlperf import counters, fresh_process
from dlperf.device import is_gpu, synchronize
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.turns import InterleavedSamples, columns, interleave, new_pairing_id, seconds


def clock_calls(fn: Callable[[], object], calls: int, device: torch.device | str = "cpu") -> list[float]:
    """Returns the time of each of ``calls`` single calls in seconds, waiting for ``device`` around each.

    Nothing is discarded and nothing is averaged. See the chapter *Measuring performance*.
    """
    waits = is_gpu(device)  # a CPU is done when the call returns
    times = []
    for _ in range(calls):
        if waits:
            synchronize(device)
        start = time.perf_counter()
        fn()
        if waits:
            synchronize(device)
        times.append(time.perf_counter() - start)
    return times


def product(n: int = 256, device: torch.device | str = "cpu") -> Callable[[], torch.Tensor]:
    """Returns a function that multiplies two fixed ``(n, n)`` float32 matrices on ``device`` into a fixed third."""
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(n, n, generator=generator).to(device) for _ in range(2))
    c = torch.empty(n, n, device=device)
    return lambda: torch.mm(a, b, out=c)


def in_fresh_process(expression: str, **environ: str) -> Any:
    """Returns the value of ``expression``, which may use this module as ``p``, as `fresh_process.evaluate` does."""
    return fresh_process.evaluate(expression, "import dlperf.measuring.pitfalls as p", **environ)


def fresh_processes(
    processes: int = 5,
    calls: int = 30,
    device: torch.device | str = "cpu",
) -> list[list[float]]:
    """Returns, for each of several new processes, the seconds of its calls.

    A first call happens once in a process: its distribution needs several.
    """
    work = f"p.product(device='{device}')"
    expression = f"p.clock_calls({work}, {calls}, '{device}')"
    return [in_fresh_process(expression) for _ in range(processes)]


def first_and_warm(
    runs: list[list[float]], device: torch.device | str = "cpu", warm_up: int = 10
) -> tuple[Measurement, Measurement]:
    """Returns the first call and the median warm call of each process in ``runs``, in seconds.

    Calls up to number ``warm_up`` count as neither, except the first. ValueError where that leaves none.
    """
    if (fewest := min(map(len, runs), default=0)) <= warm_up:
        raise ValueError(f"each process needs more than the {warm_up} calls that warm it up, got {fewest}")
    rows = [{"first call": run[0], "warm call": median(run[warm_up:])} for run in runs]
    first, warm = columns(rows, {"first call": "s", "warm call": "s"}, environment(device)).values()
    return first, warm


def queue_and_wait(device: torch.device | str) -> tuple[Callable[[Callable[[], object]], object], Callable[[], object]]:
    """Returns ``(submit, wait)``: hand work to the queue of ``device``, and wait until the queue is empty.

    A GPU has a queue of its own: what is called there returns before it is done. A CPU computes at
    once, so its queue here is one worker thread, which works through what was submitted, in order.
    """
    if is_gpu(device):
        return lambda work: work(), lambda: synchronize(device)
    worker = ThreadPoolExecutor(max_workers=1)
    return worker.submit, lambda: worker.submit(int).result()


def stopped_early(
    device: torch.device | str,
    products: int = 8,
    n: int = 1024,
    repeats: int = 15,
) -> tuple[Measurement, Measurement]:
    """Returns the seconds until the calls returned, and until all was done.

    Each sample covers ``products`` matrix products of size ``n``.
    """
    submit, wait = queue_and_wait(device)
    work = product(n, device)
    submit(work)
    rows = []
    for _ in range(repeats):
        wait()
        start = time.perf_counter()
        for _ in range(products):
            submit(work)
        returned = time.perf_counter() - start
        wait()
        finished = time.perf_counter() - start
        rows.append({"returned": returned, "finished": finished})
    units = {"returned": "s", "finished": "s"}
    both = columns(rows, units, environment(device))
    return both["returned"], both["finished"]


def clock_in_turn(functions: dict[str, Callable[[], object]], repeats: int) -> dict[str, InterleavedSamples[float]]:
    """Returns the times in seconds of single CPU calls of each function, one of each in turn, after one unclocked."""
    return interleave({name: seconds(fn) for name, fn in functions.items()}, repeats)


def libraries_and_precisions(n: int = 1000, repeats: int = 10) -> dict[str, InterleavedSamples[float]]:
    """Returns times in seconds on the CPU of drawing an ``(n, n)`` normal matrix and of multiplying two.

    Keys are ``library.bits.step``, such as ``numpy.64.multiply``: two libraries, two precisions, two
    steps, so that each can be changed alone; and ``numpy.64.legacy``, the draw by NumPy's old generator.
    """
    rng = np.random.default_rng(0)
    functions: dict[str, Callable[[], object]] = {"numpy.64.legacy": partial(np.random.normal, size=(n, n))}
    for bits, number, tensor_number in ((64, np.float64, torch.float64), (32, np.float32, torch.float32)):
        a = rng.standard_normal((n, n)).astype(number)
        t = torch.from_numpy(a)
        functions[f"numpy.{bits}.draw"] = partial(rng.standard_normal, (n, n), dtype=number)
        functions[f"torch.{bits}.draw"] = partial(torch.randn, n, n, dtype=tensor_number)
        functions[f"numpy.{bits}.multiply"] = partial(np.matmul, a, a)
        functions[f"torch.{bits}.multiply"] = partial(torch.matmul, t, t)
    return clock_in_turn(functions, repeats)


ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
"""What keeps NumPy's and PyTorch's libraries to one thread; they read it when they are loaded."""


def fair_comparison(n: int = 1000, repeats: int = 10) -> dict[str, Measurement]:
    """Returns `libraries_and_precisions` in seconds, taken in a process in which both libraries have one thread."""
    expression = f"[p.environment('cpu'), p.libraries_and_precisions({n}, {repeats})]"
    env, times = in_fresh_process(expression, **ONE_THREAD)
    shared = new_pairing_id()
    return {name: Measurement(tuple(samples), "s", name, 1, env, shared) for name, samples in times.items()}


def clock_and_count(
    calls: dict[str, Callable[[], object]], repeats: int = 15
) -> tuple[dict[str, Measurement], dict[str, float]]:
    """Returns the time of each of several CPU calls in seconds, taken in turn, and the pages found in such a call.

    These are pages of memory that the system had to find for this process, in the median of the same calls.
    """

    def counted(call: Callable[[], object]) -> tuple[float, int]:
        before = counters.pages()
        taken = seconds(call)()
        return taken, counters.pages() - before

    taken, env = interleave({name: partial(counted, call) for name, call in calls.items()}, repeats), environment("cpu")
    times = {name: found.measurement(itemgetter(0), "s", name, environment=env) for name, found in taken.items()}
    return times, {name: median(pages for _, pages in found) for name, found in taken.items()}


def make_garbage(
    calls: int = 400,
    per_call: int = 100,
) -> tuple[list[float], list[bool]]:
    """Returns the seconds of each call, and whether garbage was collected.

    A call makes ``per_call`` pairs of lists that hold each other, as parent
    and child in a tree do. No count of references frees them, only the
    collector, once enough objects have piled up, whoever is calling.
    """
    collected: list[str] = []
    times: list[float] = []
    swept: list[bool] = []
    watch = lambda phase, _: collected.append(phase)
    gc.collect()
    gc.callbacks.append(watch)
    try:
        for _ in range(calls):
            collected.clear()
            start = time.perf_counter()
            for _ in range(per_call):
                parent: list[object] = []
                child: list[object] = [parent]
                parent.append(child)
            times.append(time.perf_counter() - start)
            swept.append(bool(collected))
    finally:
        gc.callbacks.remove(watch)
    return times, swept
