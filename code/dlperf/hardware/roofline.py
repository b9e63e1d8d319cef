"""The roofline of this machine, and how far below it the operators of a step stay. The chapter *Hardware* tells it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import torch

from dlperf.device import is_gpu
from dlperf.environment import cache_bytes, environment, memory_bytes
from dlperf.measurement import Measurement
from dlperf.measuring.prediction import Call, call, uncached
from dlperf.models.cost import Operator
from dlperf.timing import clock
from dlperf.turns import columns

PARTS = ("roof", "products", "others", "short", "between")
"""Where the time of a step goes, see `where`."""

STEP = "step"
"""The name under which a step takes turns with the probes."""


@dataclass(frozen=True)
class Roof:
    """The two ceilings of a device: ``peak`` in FLOP/s and ``bandwidth`` in B/s.

    Source: Williams, Waterman and Patterson, Roofline, 2009.
    """

    peak: float
    bandwidth: float

    @property
    def ridge(self) -> float:
        """The FLOPs per byte at which computing takes as long as moving."""
        return self.peak / self.bandwidth

    def rate(self, intensity: float) -> float:
        """Returns the FLOP/s that an operation of so many FLOPs per byte cannot exceed."""
        return min(self.peak, self.bandwidth * intensity)

    def seconds(self, flops: float, moved: float) -> float:
        """Returns the seconds in which so many FLOPs and bytes can be done at best, at the same time."""
        return max(flops / self.peak, moved / self.bandwidth)

    def step(self, ops: Iterable[Operator]) -> float:
        """Returns the seconds of a step each of whose operators reaches the roof."""
        return sum(self.seconds(op.flops, op.bytes) for op in ops)


def where(
    ops: Sequence[Operator], roof: Roof, singly: Mapping[Call, float], step: float, asking: float
) -> dict[str, float]:
    """Returns the share of a ``step``, in seconds, of each of the `PARTS`; together they are 1.

    ``roof``: what its operators would take there. Beyond that, each call takes so much longer ``singly``: as one of
    the ``products``, which have FLOPs, of the ``others``, or of the ``short`` ones, whose time at the roof is less than
    that of ``asking`` for an operator. A part is negative where calls are quicker than memory. ``between`` is what the
    step takes beyond all of them.
    """
    found = dict.fromkeys(PARTS, 0.0)
    for op in ops:
        best = roof.seconds(op.flops, op.bytes)
        part = "short" if best < asking else "products" if op.flops else "others"
        found["roof"] += best
        found[part] += singly[call(op)] - best
    found["between"] = step - sum(found.values())
    return {part: spent / step for part, spent in found.items()}


@dataclass(frozen=True)
class Losses:
    """The `PARTS` of a step, sample by sample; medians of the ``roof``, and of the seconds of each call ``alone``.

    There its inputs are in no cache. ``repeated`` has its seconds again and again on the same inputs. ``step`` and
    ``probes`` have the seconds of the step and of each probe, in turn.
    """

    parts: dict[str, Measurement]
    alone: dict[Call, float]
    repeated: dict[Call, float]
    roof: Roof
    step: Measurement
    probes: dict[str, Measurement]


def losses(
    step: Callable[[], object],
    ops: Sequence[Operator],
    probes: Mapping[str, Callable[[], object]],
    work: Mapping[str, tuple[float, str]],
    device: torch.device | str,
    rounds: int = 6,
) -> Losses:
    """Returns where the time of ``step`` goes, from so many samples of the roof, of each call alone, and of the step.

    ``probes`` are what the roof is measured by, and ``asking``; ``work`` says what each does: an amount of FLOP or B.
    They and the step are measured before the calls and after them. A call alone finds its inputs in no cache;
    ``repeated`` on the same tensors, it may.
    """
    now = clock(device)
    sides = {**probes, STEP: step}
    before = [{name: _seconds(run, now) for name, run in sides.items()} for _ in range(rounds // 2)]
    singly, repeated = {}, {}
    for key, op in {call(op): op for op in ops}.items():
        run = uncached(op)
        singly[key] = [_seconds(run, now) for _ in range(rounds)]
        del run  # one call's tensors at a time
        run = op.alone()
        repeated[key] = median(_seconds(run, now) for _ in range(rounds))
        del run
    after = [{name: _seconds(run, now) for name, run in sides.items()} for _ in range(rounds - rounds // 2)]
    parts, roofs = [], []
    turns = before + after
    for i, best in enumerate(turns):
        ends = {unit: max(n / best[name] for name, (n, of) in work.items() if of == unit) for unit in ("FLOP", "B")}
        roofs.append(Roof(ends["FLOP"], ends["B"]))
        alone = {key: each[i] for key, each in singly.items()}
        parts.append(where(ops, roofs[-1], alone, best[STEP], best["asking"]))
    middle = Roof(median(roof.peak for roof in roofs), median(roof.bandwidth for roof in roofs))
    kept = {key: median(each) for key, each in singly.items()}
    env = environment(device)
    taken = columns(turns, dict.fromkeys(sides, "s"), env)
    whole = taken.pop(STEP)
    return Losses(columns(parts, dict.fromkeys(PARTS, "1"), env), kept, repeated, middle, whole, taken)


def probed(found: Iterable[Losses]) -> dict[str, Measurement]:
    """Returns the seconds of each probe in all turns of all steps; each step had turns of its own, so nothing pairs."""
    every = [losses.probes for losses in found]
    return {
        name: replace(m, samples=tuple(s for each in every for s in each[name].samples), pairing_id="")
        for name, m in every[0].items()
    }


def product_share(ops: Sequence[Operator], found: Losses) -> float:
    """Returns the share of a step that its products take: of the step, or of all its calls alone if they are longer."""
    spent = sum(found.alone[call(op)] for op in ops if op.flops)
    every = sum(found.alone[call(op)] for op in ops)
    return spent / (every * (1 + max(0.0, found.parts["between"].median)))


def _seconds(run: Callable[[], object], now: Callable[[], float], least: float = 0.004) -> float:
    """Returns the seconds of a call of ``run``, of as many in a row as take so long at ``least``, after one or two."""
    run()
    start = now()
    run()
    number = max(1, min(1000, round(least / max(now() - start, 1e-7))))
    start = now()
    for _ in range(number):
        run()
    return (now() - start) / number


@dataclass(frozen=True)
class Kind:
    """The calls of one operator in a step: FLOPs per byte, and the share of the ``roof`` attained.

    ``share`` is the part of the time of all calls of a step, each alone.
    """

    name: str
    calls: int
    intensity: float
    share: float
    roof: float


def kinds(ops: Sequence[Operator], roof: Roof, singly: Mapping[Call, float]) -> list[Kind]:
    """Returns the operators of a step by name, those that take longest first."""
    groups = defaultdict[str, list[Operator]](list)
    for op in ops:
        groups[op.name].append(op)
    whole = sum(singly[call(op)] for op in ops)
    found = []
    for name, calls in groups.items():
        seconds = sum(singly[call(op)] for op in calls)
        intensity = sum(op.flops for op in calls) / max(1, sum(op.bytes for op in calls))
        found.append(Kind(name, len(calls), intensity, seconds / whole, roof.step(calls) / seconds))
    return sorted(found, key=lambda kind: -kind.share)


def in_caches(ops: Sequence[Operator], bandwidth: float, singly: Mapping[Call, float]) -> float:
    """Returns the share of the bytes of operators without FLOPs that are moved faster than main memory can."""
    moving = [op for op in ops if not op.flops and op.bytes]
    quick = sum(op.bytes for op in moving if op.bytes / singly[call(op)] > bandwidth)
    return quick / max(1, sum(op.bytes for op in moving))


def elements(device: torch.device | str) -> int:
    """Returns how many float32 numbers an array needs to be twice as large as the caches; 2**24 at least."""
    if is_gpu(device):
        return 2**26
    return min(max(2**24, cache_bytes() // 2), max(2**20, (memory_bytes() or 2**33) // 256))


def draw(axes: Any, roof: Roof, reach: tuple[float, float], **options: Any) -> None:
    """Draws a roofline on matplotlib ``axes`` between two intensities; ``options`` go to ``plot``."""
    low, high = reach
    corners = [low, min(max(roof.ridge, low), high), high]
    axes.plot(corners, [roof.rate(i) for i in corners], **options)
    axes.set(xscale="log", yscale="log", xlabel="arithmetic intensity (FLOP/B)", ylabel="FLOP/s")
