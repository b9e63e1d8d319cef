"""Break a training step's time into seven exclusive categories, and draw them as a stacked bar.

The book draws this figure the same way in every chapter. A profile gives the intervals (`dlperf.profiles`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from statistics import median
from typing import Any

from dlperf.models.cost import FORMULAS
from dlperf.plot import COLORS, INK
from dlperf.profiles import GENERATED, Interval
from dlperf.spans import Span, covered, extent

KINDS = {
    "products": COLORS[0],
    "other kernels": COLORS[5],
    "copies": COLORS[4],
    "communication": COLORS[3],
    "data": COLORS[2],
    "waiting": "#808080",
    "host": COLORS[1],
}
"""The kinds and their colours, in the order of a bar.

``products``: kernels of products, convolutions and attention, which do nearly all arithmetic. ``other kernels``: all
that read, change and write. ``copies``: between devices, types and layouts. ``communication``: messages to other
processes. ``data``: the step waits for its mini-batch. ``waiting``: the host waits for the device, which has nothing
to do. ``host``: nothing of all this, so Python and PyTorch decide what comes next.
"""

_PRODUCTS = {packet.__name__ for packet in FORMULAS}
_PRODUCT_KERNELS = re.compile(
    r"^(?!triton_)\S*.*(gemm|gemv|conv|winograd|cutlass|xmma|flash|fmha|attention|wgrad|dgrad|nvjet|cijk_|matmul|splitk|fft2d_|flip_filter)"
    r"|^triton_tem_",  # of what Inductor writes, the templates multiply
    re.I,
)
_COPIES = re.compile(r"aten::(copy_|_to_copy|clone|contiguous)$|memcpy|copy_kernel", re.I)
_MESSAGES = re.compile(r"nccl|gloo|c10d", re.I)


@cache
def kind(kernel: str) -> str:
    """Returns the kind of a kernel, or of an operator that computes, by its name."""
    if _MESSAGES.search(kernel):
        return "communication"
    if GENERATED in kernel:
        return "other kernels"
    if _COPIES.search(kernel):
        return "copies"
    if kernel.startswith("aten::"):
        return "products" if kernel.removeprefix("aten::") in _PRODUCTS else "other kernels"
    return "products" if _PRODUCT_KERNELS.search(kernel) else "other kernels"


def parts(step: Sequence[Interval], on_gpu: bool = False) -> dict[str, float]:
    """Returns the share of each of `KINDS` in the time of one step; they sum to 1.

    An instant in which several things happen belongs to the first of them: on a GPU a kernel hides all else, since the
    device is what must not stand idle; on a CPU loading data runs kernels too, which are no part of the training.
    """
    found: dict[str, list[Span]] = {name: [] for name in KINDS}
    for each in step:
        span = each.start, each.end
        if each.lane == "kernel":
            found[kind(each.name)].append(span)
        elif each.lane == "message":
            found["communication"].append(span)
        elif each.lane == "phase" and each.name == "data":
            found["data"].append(span)
        elif each.lane == "wait":
            found["waiting"].append(span)
    kernels = ["products", "other kernels", "copies", "communication"]
    order = [*kernels, "data", "waiting"] if on_gpu else ["data", *kernels, "waiting"]
    whole = extent([(each.start, each.end) for each in step])
    shares, before = {}, 0.0
    for n in range(1, len(order) + 1):
        until = covered(span for name in order[:n] for span in found[name])
        shares[order[n - 1]] = (until - before) / whole
        before = until
    return {name: shares.get(name, 1 - before / whole) for name in KINDS}


def typical(steps: Sequence[Sequence[Interval]], on_gpu: bool = False) -> dict[str, float]:
    """Returns the median share of each kind over several steps, made to sum to 1 again."""
    each = [parts(step, on_gpu) for step in steps]
    medians = {name: median(shares[name] for shares in each) for name in KINDS}
    whole = sum(medians.values())
    return {name: share / whole for name, share in medians.items()}


def draw(axes: Any, bars: Mapping[str, Mapping[str, float]]) -> None:
    """Draws on matplotlib ``axes`` a bar for each step, the first on top, of the kinds that occur in any of them."""
    shown = [name for name in KINDS if any(bar[name] > 0.002 for bar in bars.values())]
    for row, bar in enumerate(bars.values()):
        left = 0.0
        for name in shown:
            width = 100 * bar[name]
            axes.barh(row, width, left=left, color=KINDS[name], height=0.62, label=name if row == 0 else None)
            if width >= 8:
                axes.text(left + width / 2, row, f"{width:.0f}", ha="center", va="center", color="white", fontsize=10)
            left += width
    axes.set(yticks=range(len(bars)), yticklabels=list(bars), xlim=(0, 100), xlabel="share of the step (%)")
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, handlelength=1)


def timeline(axes: Any, step: Sequence[Interval]) -> None:
    """Draws one step on matplotlib ``axes``: phases, operators and, by their kind, kernels; time in ms."""
    for each in step:
        row = {"kernel": 0, "operator": 1, "phase": 2}.get(each.lane)
        if row is None:
            continue
        color = KINDS[kind(each.name)] if row == 0 else INK if row == 1 else COLORS[2]
        left, width = 1e3 * each.start, 1e3 * (each.end - each.start)
        axes.barh(row, width, left=left, color=color, height=0.7, alpha=0.35 if row == 1 else 1)
        whole = 1e3 * extent([(p.start, p.end) for p in step])
        if row == 2 and width > whole * len(each.name) / 50:  # there is room for its name
            axes.text(left + width / 2, 2, each.name, ha="center", va="center", color="white", fontsize=9)
    axes.set(xlabel="time (ms)", yticks=(0, 1, 2), yticklabels=("kernel", "operator", "phase"))
    axes.grid(visible=False, axis="y")
