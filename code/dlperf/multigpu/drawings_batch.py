"""The drawing and the figure of the section on the batch: steps and work with more devices, and what was found.

The chapter *Training on multiple GPUs, from scratch* shows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dlperf import drawing, plot
from dlperf.measurement import Measurement
from dlperf.palette import COLORS, INK

Found = Mapping[str, Measurement | float]


def steps(devices: Sequence[int] = (1, 4, 16), critical: int = 4, least: int = 4) -> Any:
    """Returns the drawing of steps to one loss: devices upwards, time to the right, so that areas are work.

    A device takes one part of the batch; at ``critical`` parts the batch is critical, and no batch needs fewer
    than ``least`` steps.
    """
    thick, gap, left = 0.06, 0.3, 1.15
    fig, axes = drawing.canvas(sum(thick * k + gap for k in devices) + 0.25)
    wide = (drawing.WIDTH - left - 0.05) / (least * (1 + critical / devices[0]))
    top = 0.05
    for k in devices:
        height = thick * k
        drawing.label(axes, 0, top + height / 2 + 0.02, f"{k} devices" if k > 1 else "1 device", "left")
        for n in range(round(least * (1 + critical / k))):
            drawing.box(axes, left + n * wide, top, 0.85 * wide, height, COLORS[0])
        top += height + gap
    drawing.arrow(axes, (left, top), (drawing.WIDTH - 0.05, top))
    drawing.label(axes, 0, top, "time", "left")
    return fig


def found(critical: Found, rules: Found) -> Any:
    """Returns the figure of both experiments of `batch_trials`: steps to a loss, loss after as many examples."""
    fig, (left, right) = plot.figure(9, 3.8, columns=2)
    _steps_to_a_loss(left, critical)
    for schedule, label in {"kept": "rate kept", "scaled": "scaled", "warmup": "scaled, warm-up"}.items():
        batches, losses = series(rules, f"rate-{schedule}-")
        plot.points(right, batches, losses, fmt="o-", linewidth=1, label=label)
    right.axvline(max(1.0, _number(critical["batch-critical"])), color=INK, linewidth=0.8, linestyle="--")
    right.set(xscale="log", xlabel="batch size (examples)", ylabel="test loss")
    for axes, (batches, _) in (left, series(critical, "batch-steps-")), (right, series(rules, "rate-kept-")):
        axes.set_xticks(batches, [str(batch) for batch in batches])
        axes.minorticks_off()
        axes.legend(fontsize=9, loc="upper right" if axes is left else "upper left")
    return fig


def _steps_to_a_loss(axes: Any, critical: Found) -> None:
    batches, measured = series(critical, "batch-steps-")
    least, fitted, noise = (_number(critical[f"batch-{name}"]) for name in ("least", "critical", "noise"))
    first, last = measured[0].median, measured[-1].median
    plot.points(axes, batches, measured, label="measured")
    axes.plot(batches, [least * (1 + fitted / b) for b in batches], color=INK, linewidth=1, label="best fit")
    predicted = [last * (1 + noise / b) / (1 + noise / batches[-1]) for b in batches]
    axes.plot(batches, predicted, "--", color=COLORS[1], label="predicted from the noise")
    halved = [first * batches[0] / b for b in batches]
    axes.plot(batches, halved, ":", color=INK, linewidth=1, label="half the steps each time")
    axes.set(xscale="log", yscale="log", xlabel="batch size (examples)", ylabel="steps")
    ticks = (10, 30, 100, 300, 1000)
    axes.set_yticks(ticks, [str(tick) for tick in ticks])


def series(found: Found, prefix: str) -> tuple[list[int], list[Measurement]]:
    """Returns the numbers that follow a prefix in the keys of measurements, ascending, and those measurements."""
    numbers = sorted(
        int(key[len(prefix) :]) for key in found if key.startswith(prefix) and key[len(prefix) :].isdigit()
    )
    values = [found[f"{prefix}{number}"] for number in numbers]
    return numbers, [value for value in values if isinstance(value, Measurement)]


def _number(value: Measurement | float) -> float:
    return value.median if isinstance(value, Measurement) else value
