"""The drawings of the chapter: regimes, a training step, an early clock, two laws of dividing work, and a queue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from dlperf import drawing
from dlperf.drawing import Lane
from dlperf.palette import COLORS
from dlperf.spans import Span

WORKS, ASKS, MOVES = COLORS[:3]
"""What computes, what asks for it or is serial, and what moves bytes: the same colours in every drawing."""

REGIMES = {"overhead-bound": (2.2, 0.6, 0.8), "memory-bound": (0.7, 2.3, 1.2), "compute-bound": (0.7, 1.2, 2.3)}
"""What asking, moving and computing cost in each regime, in any unit of time."""

PHASES = {"forward": ((0.32, 0.1),) * 3, "backward": ((0.3, 0.45),) * 3, "update": ((0.36, 0.3),) * 2}
"""The kernels of a step by phase: how long the host asks for each, and how long the device runs it."""

TEAM = 0.22
"""Inches: how high one of several workers is."""


def regimes(costs: Mapping[str, tuple[float, float, float]] = REGIMES) -> Any:
    """Returns the drawing of an operation's three costs, of which the longest names the regime.

    ``costs`` are those of asking, moving and computing by the name of the regime.
    """
    each = 1.62
    fig, axes = drawing.canvas(each * len(costs) - 0.25)
    longest = max(asking + max(others) for asking, *others in costs.values())
    for row, (name, parts) in enumerate(costs.items()):
        drawing.label(axes, 0, each * row + 0.1, name, "left", "bold")
        lanes = [Lane(axes, each * row + 0.27 + 0.29 * i, 0.95, (drawing.WIDTH - 0.97) / longest) for i in range(4)]
        _operation(lanes, parts)
    return fig


def _operation(lanes: Sequence[Lane], costs: tuple[float, float, float]) -> None:
    """Draws an operation on three lanes, and its time on a fourth."""
    asking, moving, computing = costs
    spans = (0.0, asking), (asking, asking + moving), (asking, asking + computing)
    for lane, name in zip(lanes, ("asking", "moving", "computing", "time"), strict=True):
        lane.name(name)
    for lane, span, color, cost in zip(lanes, spans, (ASKS, MOVES, WORKS), costs, strict=False):
        draw = lane.strong if cost == max(costs) else lane.block
        draw(span, color)
    time, end = lanes[-1], max(moment for _, moment in spans)
    last = lanes[1] if moving > computing else lanes[2]
    for moment, above in ((0.0, lanes[0]), (end, last)):
        drawing.guide(time.axes, (time.at(moment), above.bottom), (time.at(moment), time.middle - 0.07))
    drawing.interval(time.axes, time.at(0), time.at(end), time.middle)


def runs(asked: Sequence[float], lengths: Sequence[float]) -> list[Span]:
    """Returns when a device runs what it was asked for: one after the other, and none before it was asked for."""
    spans: list[Span] = []
    for moment, length in zip(asked, lengths, strict=True):
        start = max(moment, spans[-1][1]) if spans else moment
        spans.append((start, start + length))
    return spans


def idle(spans: Sequence[Span]) -> list[Span]:
    """Returns the gaps in which nothing runs, from the moment 0 to the end of the last of these spans."""
    before = [0.0, *(end for _, end in spans)]
    return [(end, start) for end, (start, _) in zip(before, spans, strict=False) if start > end]


def step(data: float = 0.7, copy: float = 0.5, phases: Mapping[str, Sequence[Span]] = PHASES) -> Any:
    """Returns the drawing of a training step: a host that asks for kernels, and a device that runs them or waits.

    ``data`` is how long the host prepares a mini-batch, ``copy`` how long its way to the device takes.
    """
    calls = [call for phase in phases.values() for call in phase]
    asked = [data, *(data + moment for moment in accumulate(asking for asking, _ in calls))]
    ran = runs(asked, [copy, *(running for _, running in calls)])
    end = ran[-1][1]

    fig, axes = drawing.canvas(2.12)
    host, device = (Lane(axes, y, 0.7, (drawing.WIDTH - 0.72) / end) for y in (0.3, 0.98))
    host.name("host")
    device.name("device")
    host.block((0, data), MOVES, "data")
    moment = data
    for name, phase in phases.items():
        begin, moment = moment, moment + sum(asking for asking, _ in phase)
        host.block((begin, moment), ASKS, name)
    host.wait((moment, end))
    device.block(ran[0], MOVES, "copy")
    for span in ran[1:]:
        device.block(span, WORKS)
    for gap in (gaps := idle(ran)):
        device.wait(gap)
    for moment, (start, _) in zip(asked, ran, strict=True):
        drawing.arrow(axes, (host.at(moment), host.bottom), (device.at(start), device.y))

    drawing.label(axes, host.at(end), host.y - 0.17, "waits for the device", "right")
    drawing.label(axes, device.at(data / 2), device.bottom + 0.17, "waits for data")
    drawing.label(axes, device.at((gaps[1][0] + gaps[-1][1]) / 2), device.bottom + 0.17, "waits for the host")
    drawing.interval(axes, host.at(0), host.at(end), 2.0, "one step")
    return fig


def early_clock(pieces: int = 8, asking: float = 1, computing: float = 3.2) -> Any:
    """Returns the drawing of a clock that stops too early: the host has asked, and the device has hardly begun.

    So many ``pieces`` of work take ``asking`` on the host and ``computing`` on the device each, in any unit of time.
    """
    asked = [asking * (i + 1) for i in range(pieces)]
    ran = runs(asked, [computing] * pieces)
    end = ran[-1][1]

    fig, axes = drawing.canvas(1.65)
    host, device = (Lane(axes, y, 0.9, (drawing.WIDTH - 1.25) / end) for y in (0.62, 1.24))
    host.name("host")
    device.name("device")
    for moment, name in ((0, "start"), (asked[-1], "returned"), (end, "finished")):
        drawing.clock(axes, host.at(moment), 0.36, device.bottom + 0.1, name)
    for moment, (start, finish) in zip(asked, ran, strict=True):
        host.block((moment - asking, moment), ASKS)
        device.block((start, finish), WORKS)
        drawing.line(axes, (host.at(moment), host.bottom), (device.at(start), device.y), faint=0.45)
    return fig


def amdahl(serial: float = 0.28, workers: Sequence[int] = (1, 2, 4)) -> Any:
    """Returns the drawing of two laws: fixed work is divided among ``workers`` (Amdahl), or grows (Gustafson).

    ``serial`` is the share of one worker's time that cannot be divided.
    """
    each = 0.42 + sum(TEAM * n + 0.14 for n in workers)
    fig, axes = drawing.canvas(2 * each + 0.2)
    laws = {
        "Amdahl: the work stays": [(1 - serial) / n for n in workers],
        "Gustafson: the work grows": [1 - serial for _ in workers],
    }
    y = 0.1
    for title, shares in laws.items():
        drawing.label(axes, 0, y, title, "left", "bold")
        y += 0.22
        for n, share in zip(workers, shares, strict=True):
            y = 0.14 + _team(axes, y, n, serial, share)
        y += 0.2
    drawing.label(axes, 0, y, "time", "left")
    drawing.arrow(axes, (1.05, y), (drawing.WIDTH, y))
    return fig


def _team(axes: Any, y: float, n: int, serial: float, share: float) -> float:
    """Draws ``n`` workers from the height ``y`` on, of which one does the serial part; returns where they end."""
    lanes = [Lane(axes, y + TEAM * i, 1.05, drawing.WIDTH - 1.15, TEAM) for i in range(n)]
    drawing.label(axes, 0, (y + lanes[-1].bottom) / 2, "1 worker" if n == 1 else f"{n} workers", "left")
    lanes[0].block((0, serial), ASKS, "serial" if n == 1 else "")
    for lane in lanes:
        lane.block((serial, serial + share), WORKS, "parallel" if n == 1 else "")
    for lane in lanes[1:]:
        lane.wait((0, serial))
    return lanes[-1].bottom


def queue(waiting: int = 3) -> Any:
    """Returns the drawing of Little's law: requests arrive at a rate, so many are inside, and each stays for a time."""
    fig, axes = drawing.canvas(1.9)
    middle = 0.76
    drawing.label(axes, 2.35, 0.1, "L = number inside")
    drawing.frame(axes, 1.15, 0.28, 2.4, 1.05)
    drawing.arrow(axes, (0.0, middle), (1.05, middle), "arrivals")
    drawing.label(axes, 0.52, middle + 0.17, "λ = rate")
    drawing.box(axes, 1.3, middle - 0.17, 1.2, 0.34, ASKS)
    for i in range(waiting):
        drawing.token(axes, 2.3 - 0.3 * i, middle, WORKS)
    drawing.label(axes, 1.9, middle + 0.36, "waiting")
    drawing.box(axes, 2.8, middle - 0.17, 0.6, 0.34, WORKS)
    drawing.token(axes, 3.1, middle, WORKS)
    drawing.label(axes, 3.1, middle + 0.36, "service")
    drawing.arrow(axes, (3.65, middle), (4.7, middle), "gone")
    drawing.interval(axes, 1.15, 3.55, 1.78, "W = time inside")
    return fig
