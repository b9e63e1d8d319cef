"""Plot all-reduce times of each algorithm, by tensor size as measured and by number of workers as simulated.

The chapter *Parameter servers* shows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dlperf import plot
from dlperf.palette import COLORS, INK
from dlperf.servers import at_scale
from dlperf.servers.collective_trials import Compared
from dlperf.servers.collectives import WAYS
from dlperf.servers.failures import UsefulTime


def by_size(compared: Compared) -> Any:
    """Returns the plot of all-reduces as measured, with the lines of the formulas."""
    fig, ax = plot.figure()
    sizes = compared.sizes
    for color, way in zip(COLORS, [*WAYS, "library"], strict=False):
        plot.points(ax, sizes, [compared.taken[way, n] for n in sizes], 1e3, color=color, label=way)
        if way in WAYS:
            ax.plot(sizes, [1e3 * compared.told(way, n) for n in sizes], "--", color=color, linewidth=1)
    if crossover := compared.crossover("tree", "ring"):
        ax.axvline(crossover, color=INK, linewidth=0.8, linestyle=":", label="tree = ring")
    ax.set(xscale="log", yscale="log", xlabel="size of the tensor (bytes)", ylabel="all-reduce (ms)")
    ax.legend(fontsize=9)
    return fig


def by_workers(
    numbers: Sequence[int], swept: Mapping[str, Sequence[float]], useful: Sequence[Mapping[str, UsefulTime]]
) -> Any:
    """Returns the plot of all-reduces by way, and of a job's useful time, both simulated, by number of workers."""
    fig, (ax, below) = plot.figure(7.0, 6.2, rows=2, sharex=True, height_ratios=(3, 2))
    for i, (way, seconds) in enumerate(swept.items()):
        style = "-" if i < 4 else "--"
        ax.plot(numbers, [1e3 * s for s in seconds], style, color=COLORS[i % 4], label=way)
    for color, way in zip(COLORS, useful[0], strict=False):
        below.plot(numbers, [each[way].predicted for each in useful], color=color, label=way)
        below.plot(numbers, [each[way].simulated for each in useful], "o", color=color, markersize=4)
    below.set(xlabel="workers", ylabel="useful time", ylim=(0, 1.05))
    below.legend(fontsize=9, loc="lower left")
    ax.set(xscale="log", yscale="log", ylabel="all-reduce of 160 MB (ms)", ylim=(10, None))
    ticks = (10, 30, 100, 1000, 10000, 100000)
    ax.set_yticks(ticks, [f"{tick:,}" for tick in ticks])
    ax.set_xticks(numbers[::2], [str(n) for n in numbers[::2]])
    for axis in (ax, below):
        axis.minorticks_off()
    ax.legend(ncols=2, fontsize=9)
    return fig


def table(numbers: Sequence[int]) -> plot.Table:
    """Returns what each way asks of links and machines, for each number of workers."""
    heads = ["way", *(f"tensors, {n:,} workers" for n in numbers), "messages sent to one", "messages in a row"]
    rows = []
    for way in at_scale.WAYS:
        asked = at_scale.messages(way, numbers[-1])
        tensors = [f"{at_scale.tensors(way, n):,.2f}".rstrip("0").rstrip(".") for n in numbers]
        rows.append((way, *tensors, f"{asked.sent:,}", f"{asked.in_a_row:,}"))
    return plot.Table(heads, rows)
