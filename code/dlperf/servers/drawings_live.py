"""Draw acknowledged pushes per second under injected faults, and split brain: a server that wakes up too late.

The chapter *Parameter servers* shows them.
"""

from __future__ import annotations

from typing import Any

from dlperf import drawing, plot
from dlperf.drawing import Lane
from dlperf.palette import COLORS, INK
from dlperf.servers.timeline import HARM, Timeline

OLD, NEW = COLORS[0], COLORS[2]
"""Who held a range in epoch 1, and who in epoch 2."""


def outages(line: Timeline, width: float = 0.25) -> Any:
    """Returns the plot of the pushes acknowledged per second, counted over ``width`` seconds, with every event."""
    fig, axes = plot.figure(7.0, 3.6)
    moments, rates = line.rate(width)
    axes.stairs(rates, [*moments, moments[-1] + width], fill=True, color=COLORS[0], alpha=0.5)
    top = 1.8 * max(rates)
    for event in line.events:
        harmful = event.what in HARM
        axes.axvline(event.moment, color=COLORS[1] if harmful else INK, linestyle="-" if harmful else "--", linewidth=1)
        label = f"{event.what} {event.who}"
        place = {"xy": (event.moment, 0.92 * top), "xytext": (-4, 0), "textcoords": "offset points"}  # beside the line
        axes.annotate(label, **place, rotation=90, ha="right", va="top", fontsize=9, color=INK)
    axes.set(xlabel="time (s)", ylabel="acknowledged pushes per second", ylim=(0, top))
    return fig


def split_brain(paused: float = 0.9, lease: float = 0.8, dead: float = 1.6, wakes: float = 2.7) -> Any:
    """Returns the drawing of a server that is paused and wakes up, of its successor, and of the scheduler.

    Times are in inches from the left: its lease ends so long after the pause, and it is taken for dead.
    """
    fig, axes = drawing.canvas(3.3)
    lanes = [Lane(axes, y, 1.05, 1.0) for y in (0.72, 1.32, 1.92)]
    for lane, name in zip(lanes, ("server 2", "server 0", "scheduler"), strict=True):
        lane.name(name)
    end = drawing.WIDTH - 1.05 - 0.15
    lanes[0].strong((0, paused), OLD)
    lanes[0].wait((paused, wakes))
    lanes[0].block((wakes, end), OLD, "refuses")
    lanes[1].strong((paused + dead, end), NEW)
    lanes[2].block((0, paused + dead), OLD, "1st epoch")
    lanes[2].block((paused + dead, end), NEW, "2nd epoch")
    drawing.clock(axes, lanes[0].at(paused), 0.42, lanes[0].y, "pause")
    drawing.clock(axes, lanes[0].at(wakes), 0.42, lanes[0].y, "wakes up")
    y = lanes[2].bottom + 0.25
    drawing.interval(axes, lanes[0].at(paused), lanes[0].at(paused + lease), y)
    drawing.label(axes, lanes[0].at(paused + lease / 2), y + 0.2, "lease")
    drawing.interval(axes, lanes[0].at(paused), lanes[0].at(paused + dead), y + 0.48)
    drawing.label(axes, lanes[0].at(paused + dead / 2), y + 0.68, "until taken for dead")
    return fig
