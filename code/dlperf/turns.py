"""Taking turns: one sample of each side, then one of each again, so that whatever drifts falls on all of them alike."""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar

from dlperf.budget import seconds_left
from dlperf.measurement import FewSamplesWarning, Measurement

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


class InterleavedSamples(list[T]):
    """What one side answered, turn by turn. Sides with one ``pairing_id`` took turns, so they may be paired."""

    def __init__(self, answers: Iterable[T] = (), pairing_id: str = "") -> None:
        super().__init__(answers)
        self.pairing_id = pairing_id

    def measurement(
        self,
        of: Callable[[T], float],
        unit: str,
        description: str = "",
        calls: int = 1,
        environment: dict[str, Any] | None = None,
    ) -> Measurement:
        """Returns one figure of each answer in ``unit``, such as the seconds of a trial that tells more."""
        return Measurement(tuple(map(of, self)), unit, description, calls, environment or {}, self.pairing_id)

    def per_call(
        self: InterleavedSamples[float], description: str, calls: int, environment: dict[str, Any]
    ) -> Measurement:
        """Returns the seconds per call, where each answer is the seconds of so many ``calls``.

        Raises ValueError if ``calls`` is below 1.
        """
        if calls < 1:
            raise ValueError(f"seconds per call need at least one call, got {calls}")
        return self.measurement(lambda seconds: seconds / calls, "s", description, calls, environment)


def new_pairing_id() -> str:
    """Returns a new identifier for sides that take turns with one another and with nobody else."""
    return uuid.uuid4().hex[:8]


def interleave(
    sides: Mapping[K, Callable[[], T]],
    repeats: int,
    warm_up: int = 1,
    enough: Callable[[int, float], bool] | None = None,
) -> dict[K, InterleavedSamples[T]]:
    """Returns what each side answered in ``repeats`` turns, in each of which every side is called once.

    A change of clock frequency or a neighbour's load then falls on all sides, so that their ratio stays meaningful.
    Answers of the first ``warm_up`` turns are dropped. ``enough``, asked after each turn with their number and the
    seconds so far, may end it early. Without it a turn is the last where another like the longest would take more
    than half of what the cell has left (`dlperf.budget`), and a `FewSamplesWarning` says so. Raises ValueError where
    there would be nothing to return.
    """
    if repeats < 1:
        raise ValueError(f"sides take at least one turn, got repeats={repeats}")
    shared = new_pairing_id()
    answers: dict[K, InterleavedSamples[T]] = {name: InterleavedSamples(pairing_id=shared) for name in sides}
    for _ in range(warm_up):
        for side in sides.values():
            side()
    start = end = time.perf_counter()
    longest = 0.0
    for turn in range(1, repeats + 1):
        for name, side in sides.items():
            answers[name].append(side())
        begin, end = end, time.perf_counter()
        longest = max(longest, end - begin)
        if enough is not None:
            if enough(turn, end - start):
                break
        elif turn < repeats and longest > seconds_left() / 2:
            few = f"{', '.join(map(str, sides))}: {turn} of {repeats} samples each, the cell's time was used up"
            warnings.warn(few, FewSamplesWarning, stacklevel=2)
            break
    return answers


def columns(
    rows: Iterable[Mapping[str, float]],
    units: Mapping[str, str],
    environment: dict[str, Any] | None = None,
    calls: int = 1,
) -> dict[str, Measurement]:
    """Returns the columns of ``rows`` as measurements in their ``units``; each row is one turn of all of them.

    Raises ValueError where a column has no unit or a unit no column: a unit is given, never guessed.
    """
    rows, shared = list(rows), new_pairing_id()
    if not rows or any(row.keys() != units.keys() for row in rows):
        odd = sorted(set().union(*rows) ^ set(units)) if rows else list(units)
        raise ValueError(f"each row needs a value for each unit and the other way round; without the other: {odd}")
    return {
        name: Measurement(tuple(row[name] for row in rows), unit, name, calls, environment or {}, shared)
        for name, unit in units.items()
    }


def middle(answers: Iterable[T], key: Callable[[T], float]) -> T:
    """Returns the answer whose ``key`` is the median, the larger of two. Raises ValueError if there are no answers."""
    ordered = sorted(answers, key=key)
    if not ordered:
        raise ValueError("there is no middle one of no answers")
    return ordered[len(ordered) // 2]


def seconds(fn: Callable[[], object]) -> Callable[[], float]:
    """Returns a side that calls ``fn`` and answers with the seconds until it returned."""

    def side() -> float:
        start = time.perf_counter()
        fn()
        return time.perf_counter() - start

    return side
