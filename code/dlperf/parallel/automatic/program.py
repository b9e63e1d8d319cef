"""The program of independent branches, and what is measured and traced of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch

from dlperf import spans
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.turns import columns

NUMBERS, STEPS = 50_000, 3
"""Numbers in a vector: so few that XLA does not split a loop over them among threads. And steps of a branch."""

Call = Callable[[], Any]


@dataclass(frozen=True)
class Span:
    """What a thread did: an operation of the branch with this number, from ``start`` to ``end`` in seconds."""

    name: str
    thread: str
    branch: int
    start: float
    end: float


@dataclass(frozen=True)
class Seen:
    """What was seen of a scheduler: seconds of one branch and of all together, a trace, and the results.

    ``busy`` is CPU time over wall time while all run: how many processors were in use. A digest tells results apart.
    """

    alone: Measurement
    together: Measurement
    busy: Measurement
    trace: list[Span]
    digests: list[str]

    @property
    def ratio(self) -> Measurement:
        """All together over as many times one: 1 if they run one after the other, 0.5 if always two at once."""
        parts = tuple(len(self.digests) * s for s in self.alone.samples)
        return self.together / replace(self.alone, samples=tuple(parts))


def numbers(width: int = 2) -> list[torch.Tensor]:
    """Returns so many vectors of `NUMBERS` whole numbers below 2¹⁴, always the same, in float32."""
    generator = torch.Generator().manual_seed(0)
    return [torch.randint(0, 2**14, (NUMBERS,), generator=generator).float() for _ in range(width)]


def scramble(x: torch.Tensor) -> torch.Tensor:
    """Returns other whole numbers below 2¹⁴; exact in float32, so that every scheduler must find the same."""
    return torch.remainder(509 * x + 7, 2**14)


def sort(x: torch.Tensor) -> torch.Tensor:
    """Returns the numbers sorted, by one thread."""
    return torch.sort(x).values


def branch(x: torch.Tensor) -> torch.Tensor:
    """Returns numbers scrambled and sorted, three times: a chain."""
    for _ in range(STEPS):
        x = sort(scramble(x))
    return x


def branches(*vectors: torch.Tensor) -> list[torch.Tensor]:
    """Returns such a chain of each vector: they have nothing to do with one another."""
    return [branch(x) for x in vectors]


def digest(values: Any) -> str:
    """Returns what tells different float32 numbers apart: a hash of their bytes."""
    return hashlib.sha256(values.tobytes()).hexdigest()[:16]


def expected(width: int = 2) -> list[str]:
    """Returns the digests of the right results of so many branches, found by NumPy in whole numbers."""
    results = []
    for vector in numbers(width):
        x = vector.numpy().astype(np.int64)
        for _ in range(STEPS):
            x = np.sort((509 * x + 7) % 2**14)
        results.append(digest(x.astype(np.float32)))
    return results


def alone_and_together(alone: Call, together: Call, repeats: int) -> dict[str, Measurement]:
    """Returns the seconds of two calls in turn, ``alone`` and ``together``, and CPU over wall time of the second."""
    rows = []
    for _ in range(repeats + 1):
        start = perf_counter()
        alone()
        middle, used = perf_counter(), process_time()
        together()
        end = perf_counter()
        busy = (process_time() - used) / (end - middle)
        rows.append({"alone": middle - start, "together": end - middle, "busy": busy})
    return columns(rows[1:], {"alone": "s", "together": "s", "busy": "1"}, environment("cpu"))


def overlapped(trace: Iterable[Span]) -> float:
    """Returns the seconds during which more than one operation was running; what a thread nests counts once."""
    threads: dict[str, list[spans.Span]] = {}
    for s in trace:
        threads.setdefault(s.thread, []).append((s.start, s.end))
    return spans.at_once(threads.values(), 2)


def share(trace: Sequence[Span]) -> float:
    """Returns which share of the trace's time more than one operation was running."""
    return overlapped(trace) / spans.extent([(s.start, s.end) for s in trace])
