"""The picture of the chapter *Parameter servers*: what the link of each machine carries, predicted and counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dlperf import plot
from dlperf.palette import COLORS, INK
from dlperf.servers.loads import Links, Load

OUT, INTO = COLORS[0], COLORS[1]
WIDTH = 0.38
"""How wide a bar is, where machines are 1 apart."""


def links(panels: Mapping[str, Links], height: float = 2.9) -> Any:
    """Returns the figure: panels side by side, and of each machine what it sends (left) and what it receives (right).

    Frames are predicted, one for each phase, stacked. What is full was counted.
    """
    fig, axes = plot.figure(7.0, height, columns=len(panels), sharey=True, squeeze=False)
    for axis, (title, panel) in zip(axes[0], panels.items(), strict=True):
        for machine in range(len(panel.names)):
            _machine(axis, machine, [phase[machine] for phase in panel.phases], panel.counts[machine])
        axis.set_title(title, fontsize=10)
        axis.set_xticks(range(len(panel.names)), panel.names, fontsize=9 if len(panel.names) < 7 else 7)
        axis.grid(axis="x", visible=False)
        axis.set_xlim(-0.6, len(panel.names) - 0.4)
    axes[0][0].set_ylabel("tensors on the link")
    for color, name in ((OUT, "sends"), (INTO, "receives")):
        axes[0][-1].bar([0], [0], color=color, alpha=0.55, label=name)
    axes[0][-1].bar([0], [0], fill=False, edgecolor=INK, linewidth=1, label="predicted, by phase")
    fig.legend(*axes[0][-1].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=9)
    return fig


def _machine(axis: Any, x: int, phases: list[Load], count: Load) -> None:
    """Draws the two bars of a machine."""
    for side, color in enumerate((OUT, INTO)):
        left = x + (side - 0.5) * (WIDTH + 0.04)
        axis.bar(left, count[side], WIDTH, color=color, alpha=0.55)
        bottom = 0.0
        for phase in phases:
            if phase[side]:
                axis.bar(left, phase[side], WIDTH, bottom, fill=False, edgecolor=INK, linewidth=1)
            bottom += phase[side]
