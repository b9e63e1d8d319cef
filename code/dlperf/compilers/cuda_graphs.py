"""Capture kernel launches in a CUDA graph; measure launch and run times, and predict eager launches and replay."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.cuda import CUDAGraph

from dlperf.device import needs_cuda, synchronize


def tiny_kernels(n: int, device: torch.device | str) -> Callable[[], torch.Tensor]:
    """Returns a function of ``n`` operations in place, each on one number: as little work as a kernel can have."""
    x = torch.ones(1, device=device)

    def loop() -> torch.Tensor:
        for _ in range(n):
            x.mul_(0.999)
        return x

    return loop


def capture(fn: Callable[[], object], warm_up: int = 3) -> CUDAGraph:
    """Returns a graph whose ``replay`` launches all that ``fn`` launches.

    Kernels read and write the memory that they did when they were captured:
    change inputs in place. ``fn`` must not wait for the GPU. It runs a few
    times beforehand on a stream of its own, since what libraries prepare in
    their first calls may not be captured. Source:
    https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-graphs.
    """
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(warm_up):
            fn()
    torch.cuda.current_stream().wait_stream(side)
    graph = CUDAGraph()
    with torch.cuda.graph(graph):
        fn()
    return graph


@dataclass(frozen=True)
class Launches:
    """Seconds of one launch: to ``launch``, which the CPU does, and to ``run`` its kernel, which the GPU does."""

    launch: float
    run: float

    def one_by_one(self, n: int) -> float:
        """Returns the predicted seconds of ``n`` such launches in a row: the slower side rules."""
        return n * max(self.launch, self.run)

    def as_graph(self, n: int, launch: float) -> float:
        """Returns the same for a graph of ``n`` such kernels, whose one ``launch`` takes so many seconds."""
        return max(launch, n * self.run)


def behind_a_gate(fn: Callable[[], object], n: int, device: torch.device, cycles: int = 50_000_000) -> Launches:
    """Returns both costs of each of the ``n`` launches that ``fn`` makes, measured apart; a graph is one launch.

    First the GPU is kept busy for so many ``cycles`` of its clock while the CPU launches; then it runs what has
    queued up, back to back. ``n`` must be well below the thousand launches that a queue can hold.
    """
    needs_cuda(device, "a kernel that keeps a stream busy")
    fn()
    synchronize(device)
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda._sleep(cycles)
    begin.record()
    start = time.perf_counter()
    fn()
    launched = time.perf_counter() - start
    end.record()
    synchronize(device)
    return Launches(launched / n, begin.elapsed_time(end) / 1e3 / n)
