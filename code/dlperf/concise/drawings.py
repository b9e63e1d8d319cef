"""The chapter's picture: what each device does when, as the processes of a script were seen to do it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dlperf import plot
from dlperf.concise.observe import PARTS, Step
from dlperf.palette import COLORS, INK
from dlperf.spans import bar

COLOR = {"forward": COLORS[0], "backward": COLORS[5], "update": COLORS[2]}
MESSAGES = {"all_reduce": COLORS[3], "all_gather": COLORS[1], "reduce_scatter": COLORS[4]}


def timeline(steps: Sequence[Step], until: float | None = None, longest: float | None = None) -> Any:
    """Returns when each process computes and when its messages are under way, in ms from the first beginning.

    A line stands at ``until`` seconds, where the rung before was done; the axis ends at ``longest``.
    """
    fig, axes = plot.figure(7.0, 1.0 + 0.62 * len(steps))
    zero = min(begin for step in steps for spans in step.parts.values() for begin, _ in spans)
    names: list[str] = []
    for row, step in enumerate(steps):
        for part in PARTS:
            bar(axes, 2 * row, step.parts[part], COLOR[part], zero, label=part if row == 0 else None)
        for kind, spans in step.messages.items():
            bar(axes, 2 * row + 1, spans, MESSAGES[kind], zero, label=kind if row == 0 else None)
        names += [f"device {step.rank}", "its link"]
    if until is not None:
        axes.axvline(1e3 * until, color=INK, linewidth=1, linestyle="--", label="the rung before")
    axes.set(yticks=range(len(names)), yticklabels=names, xlabel="time (ms)", xlim=(0, longest and 1e3 * longest))
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    fig.legend(ncols=5, fontsize=9, loc="outside upper center", handlelength=1.2, columnspacing=1.2)
    return fig
