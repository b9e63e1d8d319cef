"""The drawing of a training with a fault: what is saved beside it, what a kill undoes, and where it goes on."""

from __future__ import annotations

from typing import Any

from dlperf import drawing
from dlperf.drawing import Lane
from dlperf.palette import COLORS

TRAINS, COPIES, WRITES = COLORS[0], COLORS[1], COLORS[2]
"""What trains, what stops it to copy the state, and what writes the copy to the disk."""


def killed(interval: float = 1.9, copying: float = 0.2, writing: float = 0.8, undone: float = 1.3) -> Any:
    """Returns the drawing of a worker that is killed ``undone`` after its last checkpoint, and of its next attempt."""
    fig, axes = drawing.canvas(1.98)
    restart = 1.3
    whole = interval + copying + undone + restart + undone
    scale = (drawing.WIDTH - 0.95) / whole
    trains, disk = (Lane(axes, y, 0.9, scale) for y in (0.62, 1.0))
    trains.name("training")
    disk.name("disk")
    trains.block((0, interval), TRAINS, "1")
    trains.strong((interval, interval + copying), COPIES)
    copied = interval + copying
    disk.block((copied, copied + writing), WRITES, "save")
    death = copied + undone
    trains.block((copied, death), TRAINS, "2")
    again = death + restart
    trains.wait((death, again))
    trains.block((again, whole), TRAINS, "2")
    drawing.clock(axes, trains.at(death), 0.36, disk.bottom + 0.28, "kill")
    y = disk.bottom + 0.42
    drawing.interval(axes, trains.at(copied), trains.at(death), y)
    drawing.label(axes, trains.at(copied + undone / 2), y + 0.2, "undone")
    drawing.interval(axes, trains.at(death), trains.at(again), y)
    drawing.label(axes, trains.at(death + restart / 2), y + 0.2, "restart")
    drawing.interval(axes, trains.at(0), trains.at(interval), y)
    drawing.label(axes, trains.at(interval / 2), y + 0.2, "T")
    return fig
