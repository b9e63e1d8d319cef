"""LeNet from raw tensors: its parameters, its scores, and how often they are right, as pure functions.

The chapter *Training on multiple GPUs, from scratch* tells the story.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

Params = Sequence[Any]
"""Weights and biases: tensors that are leaves, and have a ``grad`` after a backward pass."""

SHAPES: tuple[tuple[int, ...], ...] = (
    (20, 1, 3, 3),  # W1: 20 filters over one channel
    (50, 20, 5, 5),  # W2
    (800, 128),  # W3: 50 channels of 4 × 4 points
    (128, 10),  # W4
)
"""The shapes of the weights; each has a bias as long as its output has channels."""


def parameters(generator: torch.Generator) -> list[Tensor]:
    """Returns weights and biases in turn, W1, b1, … W4, b4, in float32 on the generator's device.

    Weights are normal with variance 2 over the number of inputs, biases zero. Source: He et al., Delving deep into
    rectifiers, ICCV 2015, section 2.2.
    """
    found = []
    for shape in SHAPES:
        is_filter = len(shape) == 4
        inputs = prod(shape[1:]) if is_filter else shape[0]
        outputs = shape[0] if is_filter else shape[1]
        draw = torch.randn(shape, generator=generator, device=generator.device)
        found += [draw * sqrt(2 / inputs), torch.zeros(outputs, device=generator.device)]
    return [tensor.requires_grad_() for tensor in found]


def lenet(images: Tensor, params: Params) -> Tensor:
    """Returns ten scores for each image of 28 x 28 points."""
    W1, b1, W2, b2, W3, b3, W4, b4 = params
    x = F.relu(F.conv2d(images, W1, b1))
    x = F.avg_pool2d(x, 2)
    x = F.relu(F.conv2d(x, W2, b2))
    x = F.avg_pool2d(x, 2).flatten(1)
    x = F.relu(x @ W3 + b3)
    return x @ W4 + b4


@torch.no_grad()
def accuracy(images: Tensor, labels: Tensor, params: Params) -> float:
    """Returns which share of the images gets its highest score for the right class."""
    return (lenet(images, params).argmax(1) == labels).float().mean().item()


def on(device: torch.device | str, params: Params, dtype: torch.dtype = torch.float32) -> list[Tensor]:
    """Returns copies of the parameters as leaves on another device, or in another precision."""
    return [tensor.detach().to(device, dtype, copy=True).requires_grad_() for tensor in params]
