"""Plot push rates, stragglers and test losses of synchronous, bounded-staleness and asynchronous training.

The chapter *Parameter servers* shows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean, median
from typing import Any

from dlperf import plot
from dlperf.palette import COLORS, INK
from dlperf.servers.consistency import Run
from dlperf.servers.slowness import Sweep

CALLED = {0: "BSP", 1: "SSP, 1", 4: "SSP, 4", None: "ASP"}
"""What a staleness is called."""
STALENESS_COLORS = {0: COLORS[0], 1: COLORS[1], 4: COLORS[1], None: COLORS[2]}


def pushes(runs: Mapping[int | None, Run], predicted: Mapping[int | None, Sequence[float]]) -> Any:
    """Returns the figure of how often each worker pushed in a second, one panel for each staleness, and predicted."""
    fig, axes = plot.figure(7.0, 2.8, columns=len(runs), sharey=True)
    for axis, (staleness, run) in zip(axes, runs.items(), strict=True):
        workers = range(len(run.rates))
        axis.bar(workers, run.rates, 0.6, color=COLORS[0], alpha=0.55, label="sent")
        look: dict[str, Any] = {"fill": False, "edgecolor": INK, "linewidth": 1}
        axis.bar(workers, predicted[staleness], 0.6, **look, label="predicted")
        axis.set_title(CALLED[staleness], fontsize=10)
        axis.set_xticks(workers, [f"w{worker}" for worker in workers], fontsize=9)
        axis.grid(axis="x", visible=False)
    axes[0].set_ylabel("pushes per second")
    axes[0].legend(fontsize=9)
    return fig


def stragglers(sweep: Sweep) -> Any:
    """Returns the figure of a sweep: steps of all workers, as measured and predicted, staleness, and what is gained.

    What is gained by a run that never reaches the loss is a cross.
    """
    fig, axes = plot.figure(7.0, 3.0, columns=3)
    steps, stale, gain = axes
    slow = sweep.slownesses
    for staleness in sweep.stalenesses:
        look: dict[str, Any] = {"color": STALENESS_COLORS[staleness], "label": CALLED[staleness]}
        steps.plot(slow, [sweep.runs[staleness, s].rate for s in slow], "o", **look)
        steps.plot(slow, [sweep.told(staleness, s) for s in slow], "--", linewidth=1, color=look["color"])
        stale.plot(slow, [sweep.stale(staleness, s) for s in slow], "o-", **look)
        if not staleness:  # a bound gains its few steps once: by which factor depends on how long a run lasts
            gain.plot(slow, [sweep.gain(staleness, s) for s in slow], "-", color=look["color"])
            for s in slow:
                marker, size = ("o", None) if sweep.has_reached(staleness, s) else ("X", 10)
                gain.plot(s, sweep.gain(staleness, s), marker, color=look["color"], markersize=size)
    steps.set(title="steps per second", ylim=(0, None))
    stale.set(title="pushes not yet seen", ylim=(0, None), xlabel="times as slow")
    gain.set(title="BSP's loss, times as early", ylim=(0, None))
    for axis in axes:
        axis.set_title(axis.get_title(), fontsize=10)
        axis.set_xscale("log", base=2)
        axis.set_xticks(slow, [f"{s:g}" for s in slow])
        axis.minorticks_off()
    steps.legend(fontsize=9)
    return fig


def dense(runs: Mapping[str, Sequence[Run]]) -> plot.Table:
    """Returns a table of trainings of one model, several runs of each staleness, by what they have in common.

    Rounds are those of the first worker. Rounds and last losses are medians of the runs, staleness is their mean.
    """
    heads = "ResNet-18", "waiting", "rounds", "pushes not yet seen", "last test loss"
    rows = []
    for name, several in runs.items():
        for staleness in dict.fromkeys(run.staleness for run in several):
            same = [run for run in several if run.staleness == staleness]
            rounds, last = (
                median(each) for each in zip(*((len(run.traces[0].ends), run.last) for run in same), strict=True)
            )
            rows.append(
                (name, CALLED[staleness], f"{rounds:.0f}", f"{fmean(run.stale for run in same):.1f}", f"{last:.2f}")
            )
    return plot.Table(heads, rows)


def losses(sparse: Mapping[int | None, Run], dense: Sequence[tuple[Run, str, str]]) -> Any:
    """Returns the figure of test losses against time: of the sparse model, and of a dense one with styles and labels.

    A style is that of Matplotlib's lines; runs are coloured by their staleness.
    """
    fig, (left, right) = plot.figure(7.0, 3.8, columns=2)
    for staleness, run in sparse.items():
        left.plot(*zip(*run.curve, strict=True), color=STALENESS_COLORS[staleness], label=CALLED[staleness])
    styles = {}
    for run, style, name in dense:
        right.plot(*zip(*run.curve, strict=True), style, color=STALENESS_COLORS[run.staleness])
        styles[name] = style
    for name, style in styles.items():
        right.plot([], [], style, color="#777777", label=name)
    left.set(xlabel="time (s)", ylabel="test loss (nats)", title="sparse, one worker slow")
    right.set(xlabel="time (s)", title="ResNet-18", yscale="log", ylim=(0.2, 5))
    right.set_yticks((0.25, 0.5, 1, 2, 4), ["0.25", "0.5", "1", "2", "4"])
    right.minorticks_off()
    left.legend(fontsize=9)
    right.legend(fontsize=8)
    return fig
