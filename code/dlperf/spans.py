"""Spans of time: how long at least one was running, how long several at once, and their drawing as bars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dlperf.palette import COLORS

Span = tuple[float, float]
"""When something began and when it ended, in seconds."""


def at_once(lanes: Iterable[Iterable[Span]], least: int | None = None) -> float:
    """Returns the seconds during which at least so many lanes had a span running; all of them by default.

    Spans of one lane that overlap or lie inside one another count once.
    """
    given = [list(lane) for lane in lanes]
    least = len(given) if least is None else least
    edges = [(start, 1, i) for i, lane in enumerate(given) for start, _ in lane]
    edges += [(end, -1, i) for i, lane in enumerate(given) for _, end in lane]
    running, seconds, before = [0] * len(given), 0.0, 0.0
    for now, step, lane in sorted(edges):
        if least and sum(map(bool, running)) >= least:
            seconds += now - before
        running[lane] += step
        before = now
    return seconds


def queued(begin: float, sent: Iterable[float], arrived: Iterable[float]) -> list[Span]:
    """Returns when each message had a link that carries one at a time, from when it was ``sent`` to when it arrived.

    It may have to wait for the one before it. All in seconds; ``begin`` is when the link was free at first.
    """
    ends = sorted(arrived)
    return [(max(start, free), end) for start, free, end in zip(sent, [begin, *ends], ends, strict=False)]


def covered(spans: Iterable[Span]) -> float:
    """Returns the seconds during which at least one span was running."""
    return at_once([spans], 1)


def extent(spans: Sequence[Span]) -> float:
    """Returns the seconds from the first beginning to the last end. Raises ValueError if ``spans`` is empty."""
    if not spans:
        raise ValueError("without a span there is no first beginning and no last end")
    return max(end for _, end in spans) - min(start for start, _ in spans)


def bars(axes: Any, rows: Mapping[str, Iterable[Span]], zero: float = 0.0) -> None:
    """Draws spans on matplotlib ``axes`` as `bar` does: a row and a colour for each name, the first on top."""
    for y, spans in enumerate(rows.values()):
        bar(axes, y, spans, COLORS[y % len(COLORS)], zero)
    axes.set(yticks=range(len(rows)), yticklabels=list(rows))
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")


def bar(
    axes: Any, y: float, spans: Iterable[Span], color: str, zero: float = 0.0, scale: float = 1e3, **options: Any
) -> None:
    """Draws spans as bars of one ``color`` at the height ``y``, from the moment ``zero`` on.

    Time is in ms, or in a unit of which a second has ``scale``. ``options`` go to matplotlib's ``broken_barh``.
    """
    xs = [((start - zero) * scale, (end - start) * scale) for start, end in spans]
    look = {"facecolors": (color, 0.35), "edgecolors": color, "linewidth": 0.8}
    axes.broken_barh(xs, (y - 0.35, 0.7), **{**look, **options})
