"""One operator on the whole device against many, each on a part of it: independent products of matrices.

The chapter *Automatic parallelism* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from time import perf_counter
from typing import Any

import numpy as np
import torch

from dlperf.device import needs_cuda, synchronize
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.turns import interleave
from dlperf.workers import Workers, own_cores, synchronized_start, wait_until

Program = Callable[[], float]
"""Runs once and returns the seconds that it took."""


BYTES = 2**23
"""So much memory, in bytes, do the products of a batch take, unless there would be too few of them."""


def batch(n: int, number: int, device: torch.device | str = "cpu") -> tuple[torch.Tensor, torch.Tensor]:
    """Returns ``number`` normal ``(n, n)`` matrices, and room for as many products of two of them."""
    a = torch.randn(number, n, n, device=device)
    return a, torch.empty_like(a)


def products(a: torch.Tensor, out: torch.Tensor, rounds: int = 1) -> None:
    """Squares each matrix of ``a`` into ``out``, one operator after the other; all of it ``rounds`` times."""
    pairs = list(zip(a.unbind(), out.unbind(), strict=True))
    for _ in range(rounds):
        for x, y in pairs:
            torch.mm(x, x, out=y)


def batched(a: torch.Tensor, out: torch.Tensor, rounds: int = 1) -> None:
    """Does the same with one operator a round."""
    for _ in range(rounds):
        torch.bmm(a, a, out=out)


def amount(n: int, workers: int, seconds: float, rate: float = 6e10) -> tuple[int, int]:
    """Returns how many products make a batch, and how many rounds of it one thread does in about ``seconds``.

    Each of the ``workers`` gets as many products as the others. ``rate`` is one thread's in FLOP/s, roughly. ValueError
    for matrices without a row, or for no workers.
    """
    if n < 1 or workers < 1:
        raise ValueError(f"matrices have a row or more, and there is a worker or more; got n={n}, workers={workers}")
    number = workers * max(1, min(64, BYTES // (8 * n * n)) // workers)
    return number, max(1, round(seconds / (number * (2 * n**3 / rate + 2e-6))))


@lru_cache(maxsize=1)
def _own(n: int, number: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns a worker's `batch`, the same one as long as it is asked for that."""
    return batch(n, number)


def _products(rank: int, n: int, number: int, rounds: int, begin: float) -> float:
    """Returns when a worker was done with ``rounds`` of its products, which it began at the moment ``begin``."""
    a, out = _own(n, number)
    wait_until(begin)
    products(a, out, rounds)
    return perf_counter()


class Crew(Workers):
    """Workers that share products out among them."""

    def products(self, n: int, number: int, rounds: int) -> float:
        """Returns the seconds of ``number`` products of ``(n, n)`` matrices, ``rounds`` times, in equal shares.

        They count from the moment at which all workers are to begin until the last is done.
        """
        begin = synchronized_start()
        return max(self.run(_products, n, number // self.world_size, rounds, begin)) - begin


def workers(number: int) -> Crew:
    """Returns ``number`` worker processes for a block, pinned to one core each where the system can."""
    return Crew(number, own_cores(number))


def clocked(call: Callable[[], Any], threads: int = 0) -> Program:
    """Returns the program that makes ``call``, with so many ``threads`` for an operator if they are given."""

    def program() -> float:
        if threads:
            torch.set_num_threads(threads)
        start = perf_counter()
        call()
        return perf_counter() - start

    return program


def per_call(
    programs: Mapping[str, Program], calls: int, repeats: int, device: torch.device | str = "cpu"
) -> dict[str, Measurement]:
    """Returns the seconds per call of programs of so many ``calls``, taken in turn."""
    taken, env = interleave(programs, repeats), environment(device)
    return {name: times.per_call(name, calls, env) for name, times in taken.items()}


def against_workers(crew: Crew, n: int, repeats: int = 9, seconds: float = 0.02) -> dict[str, Measurement]:
    """Returns the seconds per product of ``(n, n)`` matrices on a CPU, in turn, in five ways.

    ``in turn``: one after the other, each with as many threads as there are workers; ``workers``: shared out
    among these; ``batched``: one operator for all; ``alone`` and ``batched alone``: both on one thread.
    """
    threads, before = crew.world_size, torch.get_num_threads()
    number, rounds = amount(n, threads, seconds)
    a, out = batch(n, number)
    programs = {
        "in turn": clocked(lambda: products(a, out, rounds), threads),
        "batched": clocked(lambda: batched(a, out, rounds), threads),
        "alone": clocked(lambda: products(a, out, rounds), 1),
        "batched alone": clocked(lambda: batched(a, out, rounds), 1),
        "workers": lambda: crew.products(n, number, rounds),  # last: an idle helper spins for a while
    }
    found = per_call(programs, number * rounds, repeats)
    torch.set_num_threads(before)
    return found


def splitting(split: Measurement, alone: Measurement, threads: int) -> Measurement:
    """Returns what splitting an operator costs, in seconds: its time ``split`` less that share of ``alone``, by round.

    A cost that is less than nothing is noise, or a split that does more than divide.
    """
    return replace(split - alone / threads, description="split")


def split_cost(threads: int, repeats: int = 30, calls: int = 300) -> Measurement:
    """Returns what it costs to split an operator, in seconds: its time on ``threads`` less that share of one's.

    The operator negates about as few numbers as PyTorch divides among so many threads. Raises
    ValueError if ``threads`` is below 1.
    """
    if threads < 1:
        raise ValueError(f"an operator runs on one thread or more, got {threads}")
    x, before = torch.ones(threads * 2**15), torch.get_num_threads()
    negate = lambda: [torch.neg(x, out=x) for _ in range(calls)]
    found = per_call({str(t): clocked(negate, t) for t in (threads, 1)}, calls, repeats)
    torch.set_num_threads(before)
    return splitting(found[str(threads)], found["1"], threads)


def gain(split: float, alone: float, workers: int) -> float:
    """Returns the predicted time of operators that are split over that of whole ones, on as many ``workers``.

    On ``workers`` threads an operator takes ``split + alone / workers`` seconds; whole ones, shared out, take
    ``alone / workers`` each. A split that was measured as less than nothing is noise, and counts as nothing.
    """
    return 1 + workers * max(split, 0) / alone


def stays_below(level: float, sizes: Sequence[int], ratios: Sequence[float]) -> float:
    """Returns from which size on no ratio is above ``level``, between sizes on logarithmic axes.

    The first size if none ever is, the last if that one still is. ValueError where there is no size.
    """
    if not sizes:
        raise ValueError("a curve needs at least one size, got none")
    above = [i for i, ratio in enumerate(ratios) if ratio > level]
    if not above:
        return float(sizes[0])
    i = above[-1] + 1
    if i == len(sizes):
        return float(sizes[-1])
    x, y = np.log(sizes[i - 1 : i + 1]), np.log(ratios[i - 1 : i + 1])
    return float(np.exp(np.interp(-np.log(level), -y, x)))


def against_streams(
    device: torch.device | str, n: int, capture: Callable[[Callable[[], Any]], Any], streams: int = 8, repeats: int = 9
) -> dict[str, Measurement]:
    """Returns the seconds per product on a CUDA ``device``: ``in turn`` in one stream, in ``streams``, ``batched``.

    ``capture`` makes a CUDA graph of a function, so that launching is no part of it
    (`dlperf.compilers.cuda_graphs.capture`).
    """
    with torch.cuda.device(needs_cuda(device, "a graph over several streams")):
        a, out = batch(n, 32 * streams, device)
        side = [torch.cuda.Stream() for _ in range(streams)]

        def spread() -> None:
            main = torch.cuda.current_stream()
            begin = main.record_event()  # one for all: of PyTorch's 32 streams, one of ours may be main itself
            for i, stream in enumerate(side):
                stream.wait_event(begin)
                with torch.cuda.stream(stream):
                    products(a[i::streams], out[i::streams])
            for stream in side:  # only now, or each would wait for the one before
                main.wait_stream(stream)

        ways = {"in turn": lambda: products(a, out), "streams": spread, "batched": lambda: batched(a, out)}
        graphs = {name: capture(way) for name, way in ways.items()}

        def replay(graph: Any) -> None:
            graph.replay()
            synchronize(device)

        replays = {name: clocked(partial(replay, graph)) for name, graph in graphs.items()}
        return per_call(replays, len(a), repeats, device)
