"""Compare losses of compiled and eager training on the same mini-batches, and the effect of a rounding error."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import torch
from torch import Tensor, nn

from dlperf.models.steps import Step

Batches = Iterable[tuple[Tensor, Tensor]]


def losses(step: Step, batches: Batches) -> Tensor:
    """Returns the loss on each mini-batch in turn, float64, while the step's model learns from them."""
    return torch.stack([replace(step, inputs=x, targets=y)() for x, y in batches]).double().cpu()


def nudge(net: nn.Module, seed: int = 1) -> None:
    """Multiplies each weight by 1, or by 1 ± 2⁻²³: a rounding error's worth."""
    generator, eps = torch.Generator().manual_seed(seed), torch.finfo(torch.float32).eps
    with torch.no_grad():
        for weights in net.parameters():
            signs = torch.randint(-1, 2, weights.shape, generator=generator)
            weights.mul_(1 + eps * signs.to(weights.device))


def apart(some: Tensor, others: Tensor) -> Tensor:
    """Returns by what share of the second the losses of two trainings differ, step by step."""
    return ((some - others) / others).abs()
