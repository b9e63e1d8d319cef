"""The drawing of the section on accuracy: which examples each rank sees, epoch by epoch."""

from __future__ import annotations

from typing import Any

from torch.utils.data import DistributedSampler

from dlperf import drawing
from dlperf.palette import COLORS

RANKS = COLORS[0], COLORS[1]
"""The colours of ranks 0 and 1."""


def epochs(examples: int = 8, seed: int = 0) -> Any:
    """Returns the drawing of two epochs of two ranks: with `set_epoch`, without it, and without a sampler."""
    ways = "set_epoch", "no set_epoch", "no sampler"
    fig, axes = drawing.canvas(0.3 + 1.0 * len(ways))
    left, between = 0.75, 0.2
    wide = (drawing.WIDTH - left - between) / 2
    for epoch in (0, 1):
        drawing.label(axes, left + epoch * (wide + between) + wide / 2, 0.12, f"epoch {epoch + 1}")
    for i, way in enumerate(ways):
        top = 0.42 + 1.0 * i
        drawing.label(axes, 0, top, way, "left", "bold")
        for rank in (0, 1):
            y = top + 0.15 + 0.32 * rank
            drawing.label(axes, 0, y + 0.13, f"rank {rank}", "left")
            for epoch in (0, 1):
                order = seen(way, examples, rank, epoch, seed)
                each = wide / len(order)
                for n, example in enumerate(order):
                    x = left + epoch * (wide + between) + n * each
                    drawing.box(axes, x, y, each - 0.03, 0.26, RANKS[rank], str(example))
    return fig


def seen(way: str, examples: int, rank: int, epoch: int, seed: int = 0) -> list[int]:
    """Returns the examples of one of two ranks in an epoch, by PyTorch's own sampler."""
    alone = way == "no sampler"
    whole: Any = range(examples)
    sampler: Any = DistributedSampler(whole, 1 if alone else 2, 0 if alone else rank, seed=seed)
    if way != "no set_epoch":
        sampler.set_epoch(epoch + (examples * rank if alone else 0))  # each rank shuffles for itself
    return list(sampler)
