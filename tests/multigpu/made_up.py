"""Made-up traces and crews, so that what is computed from times can be tested without any."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from dlperf.multigpu.group import Crew
from dlperf.multigpu.tracing import StepTrace


def trace(
    begin: float = 0.0,
    forward: float = 1.0,
    ready: tuple[float, ...] = (2.0, 3.0),
    sizes: tuple[int, ...] = (30, 10),
    messages: tuple[tuple[float, float, int], ...] = (),
    update: float = 3.0,
    end: float = 3.5,
) -> StepTrace:
    """Returns a step of two gradients, in seconds after its ``begin``; messages are (sent, arrived, bytes)."""
    sent, arrived, nbytes = zip(*messages, strict=True) if messages else ((), (), ())
    at = lambda moments: tuple(begin + moment for moment in moments)
    return StepTrace(
        begin, begin + forward, at(ready), sizes, at(sent), at(arrived), nbytes, begin + update, begin + end
    )


def crew(answer: Callable[..., Any], kind: str = "host", size: int = 8) -> Crew:
    """Returns processes that are none: each answers what ``answer(rank, fn, *args)`` returns."""

    class Told(Crew):
        def first(self, k: int) -> Crew:
            return Crew(lambda fn, *args: [answer(rank, fn, *args) for rank in range(k)], kind)

    return Told(lambda fn, *args: [answer(rank, fn, *args) for rank in range(size)], kind)


def forever(*values: float) -> Iterator[float]:
    """Yields the values again and again."""
    while True:
        yield from values
