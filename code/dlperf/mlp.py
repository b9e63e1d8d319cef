"""One training step of a two-layer perceptron on several devices, operation by operation.

The chapter *Automatic parallelism* tells the story.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

Tensor = torch.Tensor


def problem(
    rows: int, inputs: int = 512, hidden: int = 512, outputs: int = 256, seed: int = 0
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Returns inputs ``x``, targets ``y`` and weights ``w1`` and ``w2``, all normal, of so many rows and columns."""
    draw = torch.Generator().manual_seed(seed)
    shapes = (rows, inputs), (rows, outputs), (inputs, hidden), (hidden, outputs)
    return tuple(torch.randn(a, b, generator=draw) / b**0.5 for a, b in shapes)


def part(x: Tensor, i: int, parts: int) -> Tensor:
    """Returns the ``i``-th of so many parts of a batch."""
    return x.chunk(parts)[i]


def layer(x: Tensor, w: Tensor) -> Tensor:
    """Returns the values of the hidden layer."""
    return (x @ w).relu()


def error(h: Tensor, w: Tensor, y: Tensor) -> Tensor:
    """Returns by how much the outputs miss the targets ``y``: the gradient of half the squared distance."""
    return h @ w - y


def gradient(x: Tensor, delta: Tensor) -> Tensor:
    """Returns the gradient of a layer's weights from what goes into it and the gradient of what comes out."""
    return x.T @ delta


def back(delta: Tensor, w: Tensor, h: Tensor) -> Tensor:
    """Returns the gradient one layer further down, before the ReLU whose values are ``h``."""
    return (delta @ w.T) * (h > 0)


def descend(w: Tensor, rate: float, *gradients: Tensor) -> None:
    """Changes weights by the sum of their gradients."""
    for each in gradients:
        w.sub_(each, alpha=rate)


def train_step(engine: Any, w1: Any, w2: Any, x: Any, y: Any, devices: Sequence[str], rate: float) -> None:
    """Enqueues a step of gradient descent for half the squared error, of which each device gets an equal part.

    All arrays are on one device, the host, which splits the batch, gathers the gradients and changes the weights.
    """
    host, k, found = w1.device, len(devices), []
    for i, device in enumerate(devices):
        xi, yi = (engine.call(part, batch, i, k, name="split").to(device) for batch in (x, y))
        v1, v2 = w1.to(device), w2.to(device)
        h = engine.call(layer, xi, v1, name="layer 1")
        delta = engine.call(error, h, v2, yi, name="layer 2")
        g2 = engine.call(gradient, h, delta, name="grad 2").to(host)
        g1 = engine.call(gradient, xi, engine.call(back, delta, v2, h), name="grad 1").to(host)
        found.append((g1, g2))
    for w, gathered, name in zip((w1, w2), zip(*found, strict=True), ("update 1", "update 2"), strict=True):
        engine.update(descend, w, rate, *gathered, name=name)
