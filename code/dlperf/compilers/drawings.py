"""The drawings of the chapter: three ways to run a program, passes over memory, and launches recorded once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dlperf import drawing
from dlperf.drawing import Lane
from dlperf.palette import COLORS
from dlperf.spans import Span

WORKS, ASKS, MOVES, PLAIN = *COLORS[:3], COLORS[5]
"""What a library multiplies, what asks for it, what moves bytes, and what goes element by element."""

ASKING = 0.5
OPERATORS = ((1.3, WORKS), (0.5, PLAIN), (0.5, PLAIN), (1.3, WORKS), (0.5, PLAIN))
"""What a program asks for: how long each operator works, in any unit of time, and of what kind it is."""
ENTERING = 0.8
FUSED = ((1.3, WORKS), (0.6, PLAIN), (1.3, WORKS), (0.5, PLAIN))
"""The same, compiled: what it costs to enter, and the operators with two neighbours in one loop."""


def ways(operators: Sequence[tuple[float, str]] = OPERATORS, fused: Sequence[tuple[float, str]] = FUSED) -> Any:
    """Returns the drawing of three ways to run the same operators: each asked for, compiled, recorded as a graph."""
    step = ASKING / 5
    rows: Mapping[str, list[tuple[float, str]]] = {
        "eager": [part for operator in operators for part in ((ASKING, ASKS), operator)],
        "compiled": [(ENTERING, ASKS), *(part for loop in fused for part in (loop, (step, ASKS)))][:-1],
        "graph": [(ASKING, ASKS), *operators],
    }
    notes = {
        "eager": "asked for one by one",
        "compiled": "entered once, neighbours fused",
        "graph": "recorded once, asked for once",
    }
    longest = max(sum(length for length, _ in row) for row in rows.values())
    each = 0.72
    fig, axes = drawing.canvas(each * len(rows) + 0.4)
    for i, (name, row) in enumerate(rows.items()):
        drawing.label(axes, 0, each * i + 0.1, name, "left", "bold")
        drawing.label(axes, 1.1, each * i + 0.1, notes[name], "left")
        lane, moment = Lane(axes, each * i + 0.26, 0.02, (drawing.WIDTH - 0.06) / longest), 0.0
        for length, color in row:
            draw = lane.strong if color == ASKS else lane.block
            draw((moment, moment + length), color)
            moment += length
    y = each * len(rows) + 0.2
    keys = {"asking": ASKS, "product": WORKS, "element by element": PLAIN}
    for (name, color), x in zip(keys.items(), (0.02, 1.05, 2.15), strict=True):
        (drawing.strong_box if color == ASKS else drawing.box)(axes, x, y - 0.09, 0.24, 0.18, color)
        drawing.label(axes, x + 0.34, y, name, "left")
    return fig


def passes(operations: Sequence[str] = ("× a", "+ b", "× c")) -> Any:
    """Returns the drawing of a chain of operations, done in as many passes over memory, and in one."""
    fig, axes = drawing.canvas(2.55)
    left, width, gap = 0.05, 0.8, (drawing.WIDTH - 0.1 - 0.8) / len(operations)
    for title, top, one in (("eager", 0.1, False), ("fused", 1.4, True)):
        drawing.label(axes, 0, top, title, "left", "bold")
        memory = Lane(axes, top + 0.22, left, 1.0)
        places = [left + gap * i for i in range(len(operations) + 1)]
        shown = places if not one else [places[0], places[-1]]
        for x in shown:
            drawing.box(axes, x, memory.y, width, 0.26, MOVES, "memory")
        y = memory.y + 0.66
        if one:
            start, end = places[0] + width / 2, places[-1] + width / 2
            drawing.box(axes, start + 0.35, y - 0.14, end - start - 0.7, 0.28, PLAIN, " → ".join(operations))
            _through(axes, start, end, memory.y + 0.26, y, 0.35)
            continue
        for x, name in zip(places, operations, strict=False):
            start, end = x + width / 2 + 0.12, x + gap + width / 2 - 0.12
            middle = (start + end) / 2
            drawing.box(axes, middle - 0.28, y - 0.14, 0.56, 0.28, PLAIN, name)
            _through(axes, start, end, memory.y + 0.26, y, middle - 0.28 - start)
    return fig


def _through(axes: Any, start: float, end: float, top: float, y: float, inset: float) -> None:
    """Draws the way of the numbers: down from memory, into a box, out of it, and up to memory again."""
    drawing.line(axes, (start, top), (start, y))
    drawing.arrow(axes, (start, y), (start + inset, y))
    drawing.line(axes, (end - inset, y), (end, y))
    drawing.arrow(axes, (end, y), (end, top))


def launches(kernels: int = 6, launching: float = 1.0, running: float = 0.45) -> Any:
    """Returns the drawing of small kernels that wait for their launches, and of a graph that one launch starts."""
    asked = [launching * (i + 1) for i in range(kernels)]
    one_by_one = [(moment, moment + running) for moment in asked]
    replayed = [(launching + running * i, launching + running * (i + 1)) for i in range(kernels)]
    scale = (drawing.WIDTH - 0.72) / one_by_one[-1][1]
    fig, axes = drawing.canvas(3.0)
    for title, top, launched, spans in (
        ("one by one", 0.1, [(moment - launching, moment) for moment in asked], one_by_one),
        ("as a graph", 1.65, [(0.0, launching)], replayed),
    ):
        drawing.label(axes, 0, top, title, "left", "bold")
        host, device = (Lane(axes, top + y, 0.7, scale) for y in (0.22, 0.78))
        host.name("host")
        device.name("device")
        _launched(host, device, launched, spans)
    last = Lane(axes, 0, 0.7, scale)
    drawing.interval(axes, last.at(0), last.at(replayed[-1][1]), 2.89)
    drawing.interval(axes, last.at(0), last.at(one_by_one[-1][1]), 1.3)
    return fig


def _launched(host: Lane, device: Lane, launched: Sequence[Span], spans: Sequence[Span]) -> None:
    """Draws launches on the host, and the kernels that they start on the device, which waits in between."""
    for begin, end in launched:
        host.strong((begin, end), ASKS)
    before = 0.0
    for begin, end in spans:
        if begin > before:
            device.wait((before, begin))
        device.block((begin, end), WORKS)
        before = end
    for (_, end), (begin, _) in zip(launched, spans, strict=False):
        drawing.arrow(host.axes, (host.at(end), host.bottom), (device.at(begin), device.y))
