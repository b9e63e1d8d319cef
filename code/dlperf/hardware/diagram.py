"""The block diagram of a machine, drawn from its inventory. The chapter *Hardware* tells the story."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dlperf import plot
from dlperf.hardware.inventory import Inventory, Part
from dlperf.measurement import format_quantity

SHOWN = 4
"""How many cores, disks, interfaces or accelerators are drawn one by one; of more, the last box counts the rest."""


def size(count: float | None) -> str:
    """Returns bytes in powers of two, as sizes of memories are given: ``48 KiB``; a question mark for None."""
    if count is None:
        return "?"
    for scale, unit in ((2**40, "TiB"), (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        if count >= scale:
            return f"{count / scale:.4g} {unit}"
    return f"{count:.0f} B"


def draw(machine: Inventory) -> Any:
    """Returns a figure: the processor with cores and caches, beside it memory, below it what hangs on its buses."""
    figure, ax = plot.figure(6.4, 5.6)
    ax.set(xlim=(0, 10), ylim=(0, 10))
    ax.axis("off")
    _processor(ax, machine)
    _box(ax, 7.6, 4.4, 2.4, 5.1, f"memory\n{size(machine.memory)}", plot.COLORS[2])
    ax.plot([6.8, 7.6], [7, 7], color=plot.INK, linewidth=5)
    groups = [
        [p for p in machine.parts if p.kind in kinds] for kinds in (("hdd", "ssd", "virtual"), ("network",), ("gpu",))
    ]
    columns = _shortened([part for group in groups for part in group])
    ax.plot([0.2, 9.8], [3, 3], color=plot.INK, linewidth=3)
    ax.plot([3.4, 3.4], [3, 4.4], color=plot.INK, linewidth=3)
    width = 10 / max(3, len(columns))
    for i, (label, rate) in enumerate(columns):
        middle = (i + 0.5) * width
        ax.plot([middle, middle], [1.7, 3], color=plot.INK, linewidth=1.5)
        ax.text(middle + 0.1, 2.3, rate, fontsize=9, va="center")
        _box(ax, middle - 0.45 * width, 0.1, 0.9 * width, 1.6, label, plot.COLORS[4])
    return figure


def _processor(ax: Any, machine: Inventory) -> None:
    _box(ax, 0, 4.4, 6.8, 5.1, "", plot.INK)
    names = [f"core {i}" for i in range(machine.cores)]
    if len(names) > SHOWN:
        names = [*names[: SHOWN - 1], f"{machine.cores - SHOWN + 1} more"]
    width = 6.4 / len(names)
    levels = [(level, machine.cache(level)) for level in (1, 2, 3, 4)]
    alone = lambda c: c.level == 1 or len(c.cores) == 1 or 0 < len(c.cores) <= 2 < machine.cores
    private = [(level, c) for level, c in levels if c and alone(c)]
    shared = [(level, c) for level, c in levels if c and (level, c) not in private]
    for i, name in enumerate(names):
        _box(ax, 0.2 + i * width, 8.3, 0.92 * width, 1.0, name, plot.COLORS[0])
        for j, (level, cache) in enumerate(private):
            _box(ax, 0.2 + i * width, 7.3 - j, 0.92 * width, 0.8, f"L{level} {size(cache.size)}", plot.COLORS[5])
    for j, (level, cache) in enumerate(shared):
        count = sum((c.level, c.kind) == (level, cache.kind) for c in machine.caches)
        label = f"{count} x " * (count > 1) + f"L{level} {size(cache.size)}"
        _box(ax, 0.2, 4.6 + (len(shared) - 1 - j), 6.3, 0.8, label, plot.COLORS[5])


def _shortened(parts: Sequence[Part]) -> list[tuple[str, str]]:
    """Returns label and rate of at most `SHOWN` parts; alike ones count as one box."""
    counted: dict[tuple[str, str], int] = {}
    for part in parts:
        label = part.kind if part.size is None else f"{part.kind}\n{size(part.size)}"
        rate = "?" if part.rate is None else format_quantity(part.rate, "B/s")
        counted[label, rate] = counted.get((label, rate), 0) + 1
    boxes = [(f"{n} x {label}" if n > 1 else label, rate) for (label, rate), n in counted.items()]
    return boxes if len(boxes) <= SHOWN else [*boxes[: SHOWN - 1], (f"{len(boxes) - SHOWN + 1} more", "")]


def _box(ax: Any, x: float, y: float, width: float, height: float, label: str, color: str) -> None:
    from matplotlib.patches import Rectangle

    ax.add_patch(Rectangle((x, y), width, height, facecolor=(0, 0, 0, 0), edgecolor=color, linewidth=2))
    ax.text(x + width / 2, y + height / 2, label, ha="center", va="center", fontsize=10)
