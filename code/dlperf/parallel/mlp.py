"""One training step of a two-layer perceptron on several devices, operation by operation.

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
    engine: Any, w1: Any, w2: Any, batch: Any, devices: Sequence[str], inputs: int = 512, rate: float = 1e-5
) -> None:
    """Enqueues a step of gradient descent for half the squared error, of which each device gets an equal part.

    All arrays are on one device, the host, which splits the batch, gathers the gradients and changes the weights.
    """
    host, found = w1.device, []
    for i, device in enumerate(devices):
        own = engine.call(part, batch, i, len(devices), name="split").to(device)
        v1, v2 = w1.to(device), w2.to(device)
        h = engine.call(layer, own, v1, name="layer 1")
        delta = engine.call(error, h, v2, own, name="layer 2")
        g2 = engine.call(gradient, h, delta, name="grad 2").to(host)
        g1 = engine.call(gradient, own, engine.call(back, delta, v2, h), inputs, name="grad 1").to(host)
        found.append((g1, g2))
    for w, gathered, name in zip((w1, w2), zip(*found, strict=True), ("apply 1", "apply 2"), strict=True):
        engine.update(descend, w, rate, *gathered, name=name)
