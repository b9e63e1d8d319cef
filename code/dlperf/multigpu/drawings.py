"""The chapter's pictures: the idea of a step on several devices, three all-reduces, and what each device does when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dlperf import drawing, plot
from dlperf.drawing import Lane
from dlperf.measurement import Measurement
from dlperf.multigpu.road import AllTraces, Exchange, Road, seconds
from dlperf.palette import COLORS, INK
from dlperf.spans import bar

FORWARD, BACKWARD, UPDATE, MESSAGE, GRADIENTS = COLORS[0], COLORS[5], COLORS[2], COLORS[3], COLORS[4]


def idea(devices: int = 2) -> Any:
    """Returns the drawing of a step on several devices: own share, own gradient, one sum, the same update."""
    fig, axes = drawing.canvas(0.62 * devices + 0.2)
    width = {"batch": 0.62, "forward": 0.78, "backward": 0.84, "sum": 0.5, "update": 0.68}
    gap, x, left = 0.22, 0.04, {}
    for name, wide in width.items():
        left[name], x = x, x + wide + gap
    colors = {"batch": COLORS[1], "forward": FORWARD, "backward": BACKWARD, "sum": GRADIENTS, "update": UPDATE}
    last, high = 0.62 * (devices - 1) + 0.3, 0.3
    for name in ("batch", "sum"):
        drawing.box(axes, left[name], 0.2, width[name], last, colors[name], name)
    for i in range(devices):
        y = 0.2 + 0.62 * i
        for name in ("forward", "backward", "update"):
            drawing.box(axes, left[name], y, width[name], high, colors[name], name)
        for before, after in zip(width, list(width)[1:], strict=False):
            end = left[before] + width[before]
            drawing.arrow(axes, (end, y + high / 2), (left[after], y + high / 2))
    return fig


def all_reduces(k: int = 3) -> Any:
    """Returns the drawing of three all-reduces on a time axis: what each device sends, by the number of the part."""
    part, long = 1 / k, float(k - 1)
    fig, axes = drawing.canvas(3 * (0.3 * k + 0.44) + 0.12)
    scale = (drawing.WIDTH - 0.9) / (2 * long)
    for n, title in enumerate(("through device 0", "sharded", "ring")):
        top = n * (0.3 * k + 0.44) + 0.12
        drawing.label(axes, 0, top, title, "left", "bold")
        lanes = [Lane(axes, top + 0.17 + 0.3 * i, 0.8, scale) for i in range(k)]
        for rank, lane in enumerate(lanes):
            lane.name(f"device {rank}")
            if n == 0 and rank == 0:
                for turn in range(k - 1):
                    lane.block((long + turn, long + turn + 1), GRADIENTS)
            elif n == 0:
                lane.block((0, long), MESSAGE)
            else:
                for turn in range(2 * (k - 1)):
                    color = GRADIENTS if turn >= k - 1 else MESSAGE
                    lane.block((turn * part, (turn + 1) * part), color, _part(n, rank, turn, k))
    return fig


def _part(algorithm: int, rank: int, turn: int, k: int) -> str:
    """Returns which part a rank sends in a turn: sharded (1) or around the ring (2)."""
    if algorithm == 2:
        return str((rank - turn) % k)
    others = [r for r in range(k) if r != rank]
    return str(rank if turn >= k - 1 else others[turn])


def timeline(traces: Mapping[Exchange, AllTraces], side: Exchange) -> Any:
    """Returns the picture of the chapter: when each device computes and when its link has a message, in ms.

    A line stands where one device with the whole batch was done. The time axis is the same for every side of a road.
    """
    chosen, done = traces[side], 1e3 * seconds(traces[Exchange.ONE])
    fig, axes = plot.figure(7.0, 1.0 + 0.62 * len(chosen))
    zero = min(each.begin for each in chosen)
    names = []
    for rank, trace in enumerate(chosen):
        rows = {
            "forward": ([(trace.begin, trace.forward_end)], FORWARD),
            "backward": ([(trace.forward_end, trace.backward_end)], BACKWARD),
            "update": ([(trace.update, trace.end)], UPDATE),
        }
        for name, (spans, color) in rows.items():
            bar(axes, 2 * rank, spans, color, zero, label=name if rank == 0 else None)
        bar(axes, 2 * rank + 1, trace.messages(), MESSAGE, zero, label="message" if rank == 0 else None)
        names += [f"device {rank}", "its link"]
    axes.axvline(done, color=INK, linewidth=1, linestyle="--", label="one device")
    longest = 1e3 * max(map(seconds, traces.values()))
    axes.set(yticks=range(len(names)), yticklabels=names, xlabel="time (ms)", xlim=(0, 1.03 * longest))
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    fig.legend(ncols=5, fontsize=9, loc="outside upper center", handlelength=1.2, columnspacing=1.2)
    return fig


def errors(found: Mapping[str, Any]) -> Any:
    """Returns the figure of a gradient's error by the number of devices: two right ways, and the mean of means."""
    fig, axes = plot.figure()
    series = {"mean of means": "means-by-k", "sum, float32": "float32-by-k", "sum, float64": "float64-by-k"}
    for i, (name, key) in enumerate(series.items()):
        ks = range(1, len(found[key]) + 1)
        axes.plot(
            ks,
            [max(error, 1e-17) for error in found[key]],
            "o",
            color=plot.COLORS[i],
            label=name,
            fillstyle="none" if i == 2 else "full",
        )
    axes.set(yscale="log", xlabel="devices", ylabel="relative error", ylim=(1e-17, 3))
    axes.legend(fontsize=9, loc=(0.03, 0.28))
    return fig


def bugs(found: Mapping[str, Any]) -> plot.Table:
    """Returns the table of how far each way to take a step is from one device, by what a test looks at."""
    names = {"right": "right", "means": "mean of means", "scale": "wrong scale", "copy": "sum in a copy"}
    rows = [
        (name, *(f"{found[f'{key}-{what}']:.0e}" for what in ("first", "other", "sgd", "adam")))
        for key, name in names.items()
    ]
    return plot.Table(["", "gradient, first device", "gradient, other device", "weights, SGD", "weights, Adam"], rows)


ALGORITHMS = {"first": "through device 0", "sharded": "sharded", "ring": "ring"}
EXCHANGES = {
    "first": "through device 0",
    "ring": "ring",
    "library": "library's ring",
    "each": "each gradient",
    "buckets": "buckets",
}


def sums(found: Mapping[str, Measurement], ks: Sequence[int]) -> plot.Table:
    """Returns the table of all-reduces: measured seconds and, in brackets, predicted over measured."""
    heads = ["", *(f"{k} devices" for k in ks)]
    cell = lambda key: f"{found[key]} ({found[f'{key}-ratio'].median:.2f})"
    return plot.Table(heads, [(name, *(plot.Name(cell(f"{key}-{k}")) for k in ks)) for key, name in ALGORITHMS.items()])


def road(found: Road) -> plot.Table:
    """Returns the table of the road: seconds predicted and measured, the gap between the backward pass and the update,
    what of a core the exchange takes, and the speedup over one device."""
    rows = []
    for key, name in EXCHANGES.items():
        of = {what: found.measured[f"{key}-{what}"] for what in ("predicted", "step", "waiting", "extra", "speedup")}
        speedup = f"{of.pop('speedup').median:.2f}"
        rows.append((name, *(plot.Name(str(each)) for each in of.values()), speedup))
    return plot.Table(["exchange", "predicted", "measured", "gap", "processor", "times as fast"], rows)


def efficiencies(found: Mapping[int, Mapping[str, Measurement]]) -> plot.Table:
    """Returns the table of the efficiency of k devices of one machine, by the number of devices."""
    names = {
        "strong": "shared batch",
        "weak": "batch each",
        "apart": "batch each, no exchange",
        "threads": "threads of one process",
    }
    cell = lambda of, name: f"{of[name].median:.2f}" if name in of else "–"
    rows = [(str(k), *(cell(of, name) for name in names)) for k, of in found.items()]
    return plot.Table(["devices", *names.values()], rows)


def scaling(
    predicted: Mapping[str, Sequence[float]], measured: Mapping[str, Measurement], ks: Sequence[int], bend: float
) -> Any:
    """Returns the figure of speedup by devices: lines as predicted for ``ks``, points as measured, strong and weak."""
    fig, axes = plot.figure()
    for i, name in enumerate(("weak", "strong")):
        axes.plot(ks, predicted[name], color=plot.COLORS[i], linewidth=1)
        points = {
            int(key.split("-")[1]): m
            for key, m in measured.items()
            if key.split("-")[0] == name and key.count("-") == 1
        }
        plot.points(axes, list(points), list(points.values()), color=plot.COLORS[i], label=name)
    axes.plot(ks, ks, ":", color=INK, linewidth=1, label="as many as devices")
    if bend <= max(ks):
        axes.axvline(bend, color=INK, linewidth=0.8, linestyle="--")
    axes.set(xlabel="devices", ylabel="speedup", ylim=(0, None))
    axes.legend(fontsize=9)
    return fig
