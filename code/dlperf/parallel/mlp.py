"""Enqueue a data-parallel training step of a two-layer MLP on an engine, as a graph of operations.

The chapter *Automatic parallelism* tells the story.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

Tensor = torch.Tensor


def problem(rows: int, inputs: int = 512, hidden: int = 512, outputs: int = 256) -> tuple[Tensor, Tensor, Tensor]:
    """Returns weights ``w1`` and ``w2`` and a batch of so many rows, each with inputs and then targets; all normal."""
    draw = torch.Generator().manual_seed(0)
    shapes = (inputs, hidden), (hidden, outputs), (rows, inputs + outputs)
    w1, w2, batch = (torch.randn(a, b, generator=draw) / b**0.5 for a, b in shapes)
    return w1, w2, batch


def part(batch: Tensor, i: int, parts: int) -> Tensor:
    """Returns the ``i``-th of so many parts of a batch."""
    return batch.chunk(parts)[i]


def layer(x: Tensor, w: Tensor) -> Tensor:
    """Returns the values of the hidden layer; what a row has beyond the inputs is ignored."""
    return (x[:, : len(w)] @ w).relu()


def error(h: Tensor, w: Tensor, batch: Tensor) -> Tensor:
    """Returns by how much the outputs miss the targets: the gradient of half the squared distance."""
    return h @ w - batch[:, -w.shape[1] :]


def gradient(x: Tensor, delta: Tensor, inputs: int | None = None) -> Tensor:
    """Returns the gradient of a layer's weights, given its first so many ``inputs`` and the gradient of its outputs."""
    return x[:, :inputs].T @ delta


def back(delta: Tensor, w: Tensor, h: Tensor) -> Tensor:
    """Returns the gradient one layer further down, before the ReLU whose values are ``h``."""
    return (delta @ w.T) * (h > 0)


def descend(w: Tensor, rate: float, *gradients: Tensor) -> None:
    """Changes weights by the sum of their gradients."""
    for each in gradients:
        w.sub_(each, alpha=rate)


def train_step(
    engine: Any,
    w1: Any,
    w2: Any,
    batch: Any,
    devices: Sequence[str],
    inputs: int = 512,
    rate: float = 1e-5,
) -> None:
    """Enqueues a step of gradient descent; each device gets a part.

    All arrays are on one device, the host, which splits the batch,
    gathers the gradients and changes the weights.
    """
    host, found1, found2 = w1.device, list[Any](), list[Any]()
    for i, device in enumerate(devices):
        own = engine.call(part, batch, i, len(devices), name="split")
        own, v1, v2 = (array.to(device) for array in (own, w1, w2))
        h = engine.call(layer, own, v1, name="layer 1")
        delta = engine.call(error, h, v2, own, name="layer 2")
        g2 = engine.call(gradient, h, delta, name="grad 2")
        below = engine.call(back, delta, v2, h)
        g1 = engine.call(gradient, own, below, inputs, name="grad 1")
        found1.append(g1.to(host))
        found2.append(g2.to(host))
    engine.update(descend, w1, rate, *found1, name="apply 1")
    engine.update(descend, w2, rate, *found2, name="apply 2")
