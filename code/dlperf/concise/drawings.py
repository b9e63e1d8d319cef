"""The chapter's pictures: what each device does when, as processes of a script were seen to do it; and its memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from dlperf import plot
from dlperf.concise.memory import Memory
from dlperf.concise.observe import PARTS, Trace
from dlperf.measurement import Measurement
from dlperf.palette import COLORS, INK
from dlperf.spans import bar

COLOR = {"forward": COLORS[0], "backward": COLORS[5], "update": COLORS[2]}
MESSAGES = {"all_reduce": COLORS[3], "all_gather": COLORS[1], "reduce_scatter": COLORS[4]}
KINDS = {"parameters": COLORS[0], "gradients": COLORS[5], "optimizer": COLORS[2], "activations": COLORS[1]}


def timeline(traces: Sequence[Trace], until: float | None = None, longest: float | None = None) -> Any:
    """Returns when each process computes and when its messages are under way, in ms from the first beginning.

    A line stands at ``until`` seconds, where the rung before was done; the axis ends at ``longest``.
    """
    fig, axes = plot.figure(7.0, 1.0 + 0.62 * len(traces))
    zero = min(begin for trace in traces for spans in trace.parts.values() for begin, _ in spans)
    names: list[str] = []
    row = 0
    for trace in traces:
        for part in PARTS:
            bar(axes, row, trace.parts[part], COLOR[part], zero, label=part if trace is traces[0] else None)
        names.append(f"device {trace.rank}")
        row += 1
        for kind, spans in trace.messages.items():
            bar(axes, row, spans, MESSAGES[kind], zero, label=kind if trace is traces[0] else None)
        if len(traces) > 1:
            names.append("its link")
            row += 1
    if until is not None:
        axes.axvline(1e3 * until, color=INK, linewidth=1, linestyle="--", label="the rung before")
    axes.set(yticks=range(len(names)), yticklabels=names, xlabel="time (ms)", xlim=(0, longest and 1e3 * longest))
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    fig.legend(ncols=5, fontsize=9, loc="outside upper center", handlelength=1.2, columnspacing=1.2)
    return fig


def length(traces: Sequence[Trace]) -> float:
    """Returns the seconds from the first beginning in traces to the last end of a part."""
    spans = [span for trace in traces for part in trace.parts.values() for span in part]
    return max(end for _, end in spans) - min(begin for begin, _ in spans)


def buckets(found: Mapping[str, Mapping[str, Measurement]]) -> plot.Table:
    """Returns a table of what `dlperf.concise.buckets.compare` found, by the way gradients are sent."""
    predicted = "predicted", "predicted, own passes"
    heads = "buckets", "messages", *predicted, "measured", "predicted over measured", "over the best"
    keys = "predicted", "own passes", "step", "predicted_over_measured", "bound"
    rows = [(way, f"{each['messages'].median:.0f}", *(str(each[key]) for key in keys)) for way, each in found.items()]
    return plot.Table(heads, rows)


def memory(found: Mapping[str, Memory], predicted: Mapping[str, Memory]) -> Any:
    """Returns bytes per device by kind, as bars on one another, and a line where each was predicted to end."""
    fig, axes = plot.figure(7.0, 1.0 + 0.45 * len(found))
    for row, (name, each) in enumerate(found.items()):
        left = 0.0
        for kind, size in asdict(each).items():
            label = kind if row == 0 else None
            axes.barh(row, size / 1e6, left=left, height=0.6, color=KINDS[kind], label=label)
            left += size / 1e6
        label = "predicted" if row == 0 else None
        at = predicted[name].total / 1e6
        axes.plot([at, at], [row - 0.4, row + 0.4], color=INK, linewidth=2, label=label)
    axes.set(yticks=range(len(found)), yticklabels=list(found), xlabel="memory per device (MB)")
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    fig.legend(ncols=5, fontsize=9, loc="outside upper center", handlelength=1.2, columnspacing=1.2)
    return fig
