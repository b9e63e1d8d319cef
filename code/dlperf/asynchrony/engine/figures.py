"""The engine's record as figures: what had to follow what, who ran what when, what memory it took."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from matplotlib.lines import Line2D
from matplotlib.patches import FancyArrowPatch, Patch, PathPatch, Rectangle
from matplotlib.path import Path

from dlperf.asynchrony.engine.operations import FRONT_END, Operation
from dlperf.plot import COLORS, INK, figure
from dlperf.spans import bar

KINDS = {"RAW": (INK, "-"), "WAR": (COLORS[1], "--"), "WAW": (COLORS[3], ":")}
"""Colour and stroke of each kind of dependency: a value is handed on, or memory is used again."""

WIDE = 7
"""So many steps stand side by side in a graph; a longer one goes downwards."""

Node = tuple[int, ...]
"""``(number,)`` is an operation; ``(before, after, step)`` is where the arrow between two passes a step."""


def layout(ops: dict[int, Operation]) -> tuple[dict[Node, tuple[int, float]], list[list[Node]]]:
    """Returns the step and the lane of each node, and the arrows as paths of nodes.

    An operation stands one step after the last that it follows; a lane is near those that it is joined
    to, sought four times there and back. Source: Sugiyama, Tagawa and Toda, Methods for visual
    understanding of hierarchical system structures, 1981.
    """
    step: dict[int, int] = {}
    for number, op in ops.items():
        step[number] = 1 + max((step[n] for n in op.after if n in step), default=-1)
    pairs = [(a, b) for b, op in ops.items() for a in op.after if a in step]
    paths: list[list[Node]] = [[(a,), *((a, b, s) for s in range(step[a] + 1, step[b])), (b,)] for a, b in pairs]
    layers: list[list[Node]] = [[] for _ in range(max(step.values(), default=-1) + 1)]
    for node in dict.fromkeys([*((number,) for number in ops), *(node for path in paths for node in path)]):
        layers[node[2] if len(node) > 1 else step[node[0]]].append(node)
    joined = [pair for path in paths for pair in pairwise(path)]
    lane = {node: float(i) for layer in layers for i, node in enumerate(layer)}
    for sweep in range(8):
        for layer in layers[:: -1 if sweep % 2 else 1]:
            beside = {node: [lane[a if b == node else b] for a, b in joined if node in (a, b)] for node in layer}
            lane |= _apart({node: sum(lanes) / len(lanes) for node, lanes in beside.items() if lanes}, layer, lane)
    return {node: (column, lane[node]) for column, layer in enumerate(layers) for node in layer}, paths


def _apart(wanted: dict[Node, float], layer: list[Node], lane: dict[Node, float]) -> dict[Node, float]:
    """Returns lanes for a layer in the wanted order and about the wanted middle, but with room between them."""
    wish = {node: wanted.get(node, lane[node]) for node in layer}
    found: dict[Node, float] = {}
    free, last = float("-inf"), 1
    for node in sorted(layer, key=lambda node: (wish[node], lane[node])):
        found[node] = max(wish[node], free + (1 if len(node) == last == 1 else 0.65))  # an arrow needs less
        free, last = found[node], len(node)
    shift = (sum(wish.values()) - sum(found.values())) / len(layer)
    return {node: place + shift for node, place in found.items()}


def draw_graph(operations: Iterable[Operation], axes: Any = None, title: str = "") -> Any:
    """Returns the dependency graph as a figure: an operation stands one step after the last that it follows.

    Frames tell devices apart, and strokes the kinds of dependency, where there are several. Waits are left out.
    """
    ops = {op.number: op for op in operations if op.device != FRONT_END}
    places, paths = layout(ops)
    steps, lanes = ([place[i] for place in places.values()] or [0] for i in (0, 1))
    along, across = max(steps) + 1, max(lanes) - min(lanes) + 1
    down = along > WIDE
    room = (7 / max(across if down else along, 5), 0.5 if down else 0.65)  # of an operation, in inches
    letters = max((len(op.name) for op in ops.values()), default=1)
    size = min(11.0, 0.75 * room[0] * 72 / (0.6 * letters + 1.2))  # of the letters, in points
    box = (0.6 * letters + 1.2) * size / 72, 2.1 * size / 72
    axes = axes or figure(height=(along if down else across) * room[1] + 0.6)[1]

    def at(step: float, lane: float) -> tuple[float, float]:
        return (lane * room[0], -step * room[1]) if down else (step * room[0], -lane * room[1])

    for path in paths:
        color, stroke = KINDS[ops[path[-1][0]].after[path[0][0]]]
        half = box[1] / room[1] / 2 if down else box[0] / room[0] / 2
        points = [at(*point) for point in _curve([places[node] for node in path], half)]
        curve = Path(points, [Path.MOVETO, *[Path.CURVE4] * (len(points) - 1)])
        axes.add_patch(PathPatch(curve, fc="none", ec=color, ls=stroke, lw=1.2))
        head = points[-1][0] - 0.01 * (not down), points[-1][1] + 0.01 * down
        style = dict[str, Any](arrowstyle="->", mutation_scale=9, shrinkA=0, shrinkB=0, color=color, lw=1.2)
        axes.add_patch(FancyArrowPatch(head, points[-1], **style))
    colors = dict(zip(sorted({op.device for op in ops.values()}), COLORS * len(ops), strict=False))
    for number, op in ops.items():
        (x, y), color = at(*places[(number,)]), colors[op.device]
        axes.add_patch(Rectangle((x - box[0] / 2, y - box[1] / 2), *box, fc=(color, 0.15), ec=color, lw=1.2))
        axes.text(x, y, op.name, ha="center", va="center", fontsize=size)
    kinds = [kind for kind in KINDS if any(kind in op.after.values() for op in ops.values())]
    handles: list[Any] = [Patch(fc=(color, 0.15), ec=color, label=device) for device, color in colors.items()]
    strokes = [Line2D([], [], color=KINDS[kind][0], ls=KINDS[kind][1], lw=1.2, label=kind) for kind in kinds]
    _legend(axes, handles * (len(handles) > 1) + strokes * (len(strokes) > 1))
    (left, top), (right, bottom) = at(-0.5, min(lanes) - 0.5), at(along - 0.5, max(lanes) + 0.5)
    axes.set(xlim=sorted((left, right)), ylim=sorted((top, bottom)), aspect="equal", title=title)
    axes.axis("off")
    return axes.figure


def _curve(path: list[tuple[int, float]], half: float) -> list[tuple[float, float]]:
    """Returns an arrow from box to box, level where it passes a step, as the points of Bezier curves."""
    points: list[tuple[float, float]] = [(path[0][0] + half, path[0][1])]
    for i, (step, lane) in enumerate(path[1:], 1):
        (x, y), end = points[-1], step - half
        bend = (end - x) / 2
        points += [(x + bend, y), (end - bend, lane), (end, lane)]
        if i < len(path) - 1:
            points += [(end, lane), (step + half, lane), (step + half, lane)]
    return points


def _legend(axes: Any, handles: Sequence[Any], below: float = 0) -> None:
    if handles:
        axes.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -below), ncols=len(handles), fontsize=9)


def draw_timeline(operations: Iterable[Operation], axes: Any = None, title: str = "", span: float = 0) -> Any:
    """Returns who ran what when as a figure: a row per device, and one for who called the engine.

    That row shows the waits, and below them a stroke for each call that enqueued. The time axis shows
    ``span`` seconds, by default all. Colours tell names apart where there are few; names stand where
    there is room, else in a legend.
    """
    ops = list(operations)
    rows = [*sorted({op.device for op in ops} - {FRONT_END}, reverse=True), FRONT_END]
    zero = min((op.enqueued for op in ops), default=0.0)
    span = span or max((op.end - zero for op in ops), default=0.0) or 1.0
    axes = axes or figure(height=1.1 + 0.5 * len(rows))[1]
    letter = 0.068 * span / (0.75 * axes.figure.get_size_inches()[0])  # its width in seconds
    colors, written = _name_colors(ops), set[str]()
    for device, name in dict.fromkeys((op.device, op.name) for op in ops):
        same = [op for op in ops if (op.device, op.name) == (device, name)]
        color, row = colors[name] if device != FRONT_END else COLORS[1], rows.index(device)
        bar(axes, row, [(op.start, op.end) for op in same], color, zero)
        wide = [op for op in same if op.end - op.start > letter * (len(name) + 1)]
        for op in wide:
            middle = ((op.start + op.end) / 2 - zero) * 1e3
            axes.text(middle, row, name, ha="center", va="center", fontsize=9, clip_on=True)
        written |= {name for _ in wide}
    calls = [(op.enqueued - zero) * 1e3 for op in ops if op.device != FRONT_END]
    axes.vlines(calls, len(rows) - 1.5, len(rows) - 1.36, INK, linewidth=0.8)
    if len(set(colors.values())) == len(colors):
        rest = {name: color for name, color in colors.items() if name not in written}
        _legend(axes, [Patch(fc=(color, 0.35), ec=color, label=name) for name, color in rest.items()], below=0.3)
    axes.set(xlabel="time (ms)", yticks=range(len(rows)), yticklabels=rows, xlim=(0, span * 1.01e3), title=title)
    axes.grid(visible=False, axis="y")
    return axes.figure


def _name_colors(ops: Iterable[Operation]) -> dict[str, str]:
    """Returns a colour for each name of an operation, or the same for all where there are too many."""
    names = dict.fromkeys(op.name for op in ops if op.device != FRONT_END)
    few = [COLORS[0], *COLORS[2:]]
    return dict(zip(names, few if len(names) <= len(few) else few[:1] * len(names), strict=False))


def draw_memory(*, axes: Any = None, title: str = "", **runs: Sequence[tuple[float, int]]) -> Any:
    """Returns the live bytes of several runs over time as a figure; each is what `Engine.live_bytes` returned."""
    axes = axes or figure()[1]
    for label, run in runs.items():
        axes.step([(t - run[0][0]) * 1e3 for t, _ in run], [size / 1e6 for _, size in run], where="post", label=label)
    axes.set(xlabel="time (ms)", ylabel="live memory (MB)", ylim=(0, None), title=title)
    axes.legend()
    return axes.figure
