"""The wait that hides in a training loop: one epoch in two versions, and what each of them should take.

The chapter *Asynchronous computation* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from statistics import median
from time import perf_counter
from typing import Any

import torch

from dlperf.asynchrony.engine.operations import FRONT_END, Operation
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.turns import columns


def epoch(
    engine: Any,
    layers: int = 1,
    batches: int = 20,
    n: int = 384,
    *,
    hidden: bool,
) -> float:
    """Returns the mean loss of a loop that only makes the batches itself.

    If ``hidden``, it reads each loss; else ``engine`` adds, and the sum is
    read.
    """
    generator, loss_of = torch.Generator().manual_seed(0), work(layers)
    weights, total = weigh(engine, n), engine.array(torch.zeros(()))
    read = 0.0
    for _ in range(batches):
        x = draw(engine, n, generator)
        loss = engine.call(loss_of, x, weights, name="loss")
        if hidden:
            read += loss.item()
        else:
            total += loss
    return (read if hidden else total.item()) / batches


def draw(engine: Any, n: int, generator: torch.Generator) -> Any:
    """Returns a batch, made by the front end: the mean of six normal ``(n, n)`` matrices."""
    return engine.array(torch.randn(6, n, n, generator=generator).mean(0))


def weigh(engine: Any, n: int) -> Any:
    """Returns ``(n, n)`` weights with which no number of layers grows."""
    return engine.array(torch.full((n, n), 1 / n))


def work(layers: int) -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    """Returns the loss of a perceptron with so many ``layers``, all with the same weights."""

    def loss(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        for _ in range(layers):
            x = (x @ w).relu()
        return x.mean()

    return loss


def sides(engine: Any, layers: int, n: int = 384, repeats: int = 9) -> tuple[float, float, float]:
    """Returns the seconds to draw a batch, to work on it, and of a wait by itself: medians of ``repeats``.

    The third is what an operation on one number costs when it is waited for, beyond executing it.
    """
    generator, weights, drawn, alone = torch.Generator().manual_seed(0), weigh(engine, n), [], []
    one = engine.array(torch.zeros(()))
    for _ in range(repeats):
        start = perf_counter()
        x = draw(engine, n, generator)
        drawn.append(perf_counter() - start)
        engine.call(work(layers), x, weights, name="loss")
        engine.waitall()
        start = perf_counter()
        engine.call(torch.neg, one, name="answer")
        engine.waitall()
        alone.append(perf_counter() - start)
    took = {name: [op.end - op.start for op in engine.history if op.name == name] for name in ("loss", "answer")}
    waited = [all_of - own for all_of, own in zip(alone, took["answer"][-repeats:], strict=True)]
    return median(drawn), median(took["loss"][-repeats:]), median(waited)


LONGEST = 0.05
"""So many seconds does it take to draw a batch at most; what seems to take longer was held up."""


def balanced(engine: Any, n: int = 384) -> int:
    """Returns with how many layers the work on a batch takes about as long as drawing it, or as `LONGEST`."""
    layers = 1
    for _ in range(3):  # many layers take less than as many times one
        drawn, worked, _ = sides(engine, layers, n)
        layers = max(1, round(layers * min(drawn, LONGEST) / worked))
    return layers


def hold_against(engine: Any, layers: int, batches: int = 20, repeats: int = 7) -> dict[str, Measurement]:
    """Returns the seconds of both versions, ``hidden`` and ``open``, and those of ``drawing`` and ``working``.

    ``hidden fit`` and ``open fit`` are predicted over measured: the sum of both sides and of a wait per batch, and
    the longer side per batch after one drawing, with one wait. ``predicted factor`` is the ratio of the two
    predictions. Each trial predicts from its own sides, then runs. ``drawing beside`` and ``working beside`` are how
    many times as long each side took in the open loop, while the other was at work, as it took alone.
    """
    rows = []
    for _ in range(repeats):
        drawn, worked, waited = sides(engine, layers)
        predicted = {
            "hidden": batches * (drawn + worked + waited),
            "open": drawn + batches * max(drawn, worked) + waited,
        }
        row = {"drawing": drawn, "working": worked, "predicted factor": predicted["hidden"] / predicted["open"]}
        for name in ("hidden", "open"):
            before, start = len(engine.history), perf_counter()
            epoch(engine, layers, batches, hidden=name == "hidden")
            row[name] = perf_counter() - start
        open_loop = list(engine.history)[before:]
        between = sorted(end - begin for begin, end in at_work(open_loop, 0))
        row["drawing beside"] = median(between[1 - batches :]) / drawn  # the longest are the draws; the first is none
        row["working beside"] = median(op.end - op.start for op in open_loop if op.name == "loss") / worked
        rows.append(row | {f"{name} fit": seconds / row[name] for name, seconds in predicted.items()})
    units = dict.fromkeys(("drawing", "working", "hidden", "open"), "s")
    units |= dict.fromkeys(("predicted factor", "hidden fit", "open fit", "drawing beside", "working beside"), "1")
    return columns(rows, units, environment())


def at_work(operations: Iterable[Operation], shortest: float = 1e-4) -> list[tuple[float, float]]:
    """Returns start and end, in seconds of `time.perf_counter`, of all that the front end did between its calls.

    A call ends where it has enqueued or where its wait is over. What takes less than ``shortest`` seconds is left out.
    """
    calls = sorted((op.enqueued, op.end if op.device == FRONT_END else op.enqueued) for op in operations)
    return [(a[1], b[0]) for a, b in pairwise(calls) if b[0] - a[1] > shortest]
