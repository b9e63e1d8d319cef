"""The table and the figure of test accuracies: by recipe, and by epoch with two kinds of statistics.

The chapter *Training on multiple GPUs, concisely* shows both, from `dlperf.concise.accuracy`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from dlperf import plot
from dlperf.concise.accuracy import Run
from dlperf.palette import COLORS


def table(trained: Mapping[str, Sequence[Run]]) -> plot.Table:
    """Returns a table of recipes: steps, and over the seeds the accuracies in percent after the last epoch."""
    heads = "recipe", "steps", "fresh statistics (%)", "lowest to highest (%)", "running statistics (%)"
    rows = []
    for name, runs in trained.items():
        fresh, running = (
            [100 * each[-1] for each in kind] for kind in zip(*((r.fresh, r.running) for r in runs), strict=True)
        )
        spread = f"{min(fresh):.1f} to {max(fresh):.1f}"
        rows.append((name, f"{runs[0].steps}", f"{fmean(fresh):.1f}", spread, f"{fmean(running):.1f}"))
    return plot.Table(heads, rows)


def epochs(runs: Sequence[Run]) -> Any:
    """Returns the figure of accuracy after each epoch, a line for each seed and kind of statistics."""
    fig, axes = plot.figure(7.0, 3.0)
    for kind, mark, color in (("fresh", "s-", COLORS[0]), ("running", "o--", COLORS[1])):
        for i, run in enumerate(runs):
            found = [100 * each for each in getattr(run, kind)]
            label = None if i else f"{kind} statistics"
            axes.plot(range(1, len(found) + 1), found, mark, color=color, linewidth=1, markersize=4, label=label)
    axes.set(xlabel="epoch", ylabel="test accuracy (%)", ylim=(0, 100))
    axes.set_xticks(range(1, len(runs[0].fresh) + 1))
    axes.legend(fontsize=9, loc="lower right")
    return fig
