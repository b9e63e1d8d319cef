"""The table of published steps beside predicted ones, and the figure of rates on 8 to 4,096 GPUs.

The chapter *Training on multiple GPUs, concisely* shows both, from `dlperf.concise.at_scale` and `published`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any

from dlperf import plot
from dlperf.concise import at_scale
from dlperf.concise.at_scale import GPT, Cluster
from dlperf.concise.published import GPT3_IN_STAGES, GPT3_SHARDED, UNSEEN, Run
from dlperf.palette import COLORS, INK

TENSOR = 8
"""GPUs that share a layer."""
COUNTS = tuple(sorted({TENSOR * round(2 ** (n / 16)) for n in range(9 * 16 + 1)}))
"""Of GPUs: whole nodes from 8 to 4,096, about evenly on a logarithmic axis."""
COLOR = {"data": COLORS[2], "sharded": COLORS[0], "tensor × data": COLORS[1]}
IN_STAGES = "tensor × data, in stages"


def comparison(cluster: Cluster, runs: Sequence[Run] = UNSEEN) -> plot.Table:
    """Returns a table of ``runs``: parameters, way, GPUs, seconds of a step published and predicted, and the ratio."""
    heads = (
        "parameters (billions)",
        "way",
        "GPUs",
        "published (s)",
        "predicted (s)",
        "predicted over published",
    )
    rows = []
    for run in runs:
        told = run.predict(cluster).seconds
        size = f"{run.model.parameters / 1e9:.1f}"
        way = IN_STAGES if run.stages else run.way
        times = f"{run.seconds:.1f}", f"{told:.1f}", f"{told / run.seconds:.2f}"
        rows.append((size, way, f"{run.gpus:,}", *times))
    return plot.Table(heads, rows)


def able(way: str, model: GPT, cluster: Cluster, sequences: int, k: int) -> bool:
    """Returns whether a way can run on k GPUs: its state fits into their memory, and no sequence is divided."""
    shared = {"data": 1, "sharded": k, "tensor × data": TENSOR}[way]
    groups = k // TENSOR if way == "tensor × data" else k
    return at_scale.state(model, shared) <= cluster.memory and groups <= sequences


def rates(model: GPT, cluster: Cluster, sequences: int) -> Any:
    """Returns the figure of tokens per second and GPU against the number of GPUs, predicted for each way.

    A line is dotted where its way cannot run (`able`); a diamond stands where it bends (`at_scale.flat_from`). Marks
    are GPT-3's published rates.
    """
    fig, axes = plot.figure(7.0, 3.6)
    tokens = model.context * sequences
    for way, step in at_scale.WAYS.items():
        rate = [tokens / (k * step(model, cluster, k, sequences).seconds) for k in COUNTS]
        inside = [
            each if able(way, model, cluster, sequences, k) else nan for k, each in zip(COUNTS, rate, strict=True)
        ]
        axes.plot(COUNTS, rate, ":", color=COLOR[way], linewidth=1.5)
        axes.plot(COUNTS, inside, color=COLOR[way], label=way)
        bend = at_scale.flat_from(model, cluster, sequences, way)
        if bend <= COUNTS[-1]:
            top = tokens * cluster.flops / model.flops(sequences)
            axes.plot(bend, top, "D", color=COLOR[way], markersize=8, markerfacecolor="none", markeredgewidth=1.5)
    for runs, mark, color, label in (
        (GPT3_SHARDED, "o", COLOR["sharded"], "published, sharded"),
        (GPT3_IN_STAGES, "s", COLOR["tensor × data"], "published, in stages"),
    ):
        found = [run.model.context * run.sequences / (run.gpus * run.seconds) for run in runs]
        axes.plot([run.gpus for run in runs], found, mark, color=color, markersize=6, label=label)
    axes.plot([], [], "D", color=INK, markerfacecolor="none", label="bend, by the formula")
    axes.set(xlabel="GPUs", ylabel="tokens per second and GPU", ylim=(0, None))
    axes.set_xscale("log", base=2)
    ticks = (8, 64, 512, 4096)
    axes.set_xticks(ticks, [f"{k:,}" for k in ticks])
    axes.minorticks_off()
    axes.legend(fontsize=9, loc="lower left")
    return fig
