"""Measure the critical batch size: steps to a target loss, gradient noise scale, and learning rate.

Small networks predict the next character of the book's own text, many of them side by side in stacked tensors, each
with a learning rate and a seed of its own. The chapter *Training on multiple GPUs, from scratch* tells the story.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, log, sqrt
from statistics import fmean
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from dlperf.models import text

CONTEXT, HIDDEN = 4, 32
"""Characters that a network reads, and its hidden units."""
GUESS = log(len(text.CHARACTERS))
"""The loss of a network that has learned nothing; one whose training diverges counts as having this loss."""
WATCHED = 500
"""Training examples on whose loss the end of a run is decided."""


class Data(NamedTuple):
    """Examples to train on and to test on: inputs (n, features), float32; targets (n,), int64."""

    inputs: Tensor
    targets: Tensor
    test_inputs: Tensor
    test_targets: Tensor


def characters(device: torch.device | str = "cpu", test: int = 4000) -> Data:
    """Returns every `CONTEXT` characters of the book's excerpt, one-hot, with the next one; the last ``test`` apart."""
    windows = text.encode(text.EXCERPT).unfold(0, CONTEXT + 1, 1).to(device)
    inputs = F.one_hot(windows[:, :-1], len(text.CHARACTERS)).flatten(1).float()
    targets = windows[:, -1].contiguous()
    return Data(inputs[:-test], targets[:-test], inputs[-test:], targets[-test:])


def networks(seeds: Sequence[int], copies: int = 1, device: torch.device | str = "cpu") -> list[Tensor]:
    """Returns weights and biases of ``copies`` networks for each seed, stacked: (copies x seeds, inputs, outputs)."""
    classes, stacks = len(text.CHARACTERS), []
    for seed in seeds:
        draw = torch.Generator().manual_seed(seed)
        first = torch.randn(CONTEXT * classes, HIDDEN, generator=draw) / sqrt(CONTEXT)  # so many inputs are not zero
        stacks.append((first, torch.randn(HIDDEN, classes, generator=draw) / sqrt(HIDDEN)))
    w1, w2 = (torch.stack(each).repeat(copies, 1, 1) for each in zip(*stacks, strict=True))
    b1, b2 = (torch.zeros(len(w1), 1, width) for width in (HIDDEN, classes))
    return [tensor.to(device).requires_grad_() for tensor in (w1, b1, w2, b2)]


def losses(weights: Sequence[Tensor], x: Tensor, y: Tensor) -> Tensor:
    """Returns each network's mean loss on its batch: x (networks, batch, features), y (networks, batch)."""
    w1, b1, w2, b2 = weights
    scores = torch.relu(x @ w1 + b1) @ w2 + b2
    return F.cross_entropy(scores.flatten(0, 1), y.flatten(), reduction="none").view(y.shape).mean(1)


def step(weights: Sequence[Tensor], x: Tensor, y: Tensor, rates: Tensor) -> None:
    """Changes each network once, by the gradient of its batch times its own learning rate."""
    gradients = torch.autograd.grad(losses(weights, x, y).sum(), weights)
    with torch.no_grad():
        for w, g in zip(weights, gradients, strict=True):
            w -= rates.view(-1, 1, 1) * g


def draw_batches(data: Data, networks: int, batch: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Returns a batch for each of so many networks, drawn with replacement."""
    chosen = torch.randint(len(data.targets), (networks, batch), generator=generator, device=data.targets.device)
    return data.inputs[chosen], data.targets[chosen]


@torch.no_grad()
def evaluate(weights: Sequence[Tensor], x: Tensor, y: Tensor) -> Tensor:
    """Returns each network's loss on the same examples: at most `GUESS`, which one that diverged has."""
    found = losses(weights, x.expand(len(weights[0]), -1, -1), y.expand(len(weights[0]), -1))
    return found.nan_to_num(GUESS, GUESS).clamp(max=GUESS)


def steps_to(
    target: float, data: Data, batch: int, rates: Sequence[float], seeds: Sequence[int], number: int = 4000
) -> dict[float, list[float]]:
    """Returns after how many steps each learning rate brought each seed to the ``target`` loss; inf where not.

    It ends as soon as one rate has brought every seed there, or after ``number`` steps.
    """
    weights = networks(seeds, len(rates), data.targets.device)
    each = torch.tensor(rates, device=data.targets.device).repeat_interleave(len(seeds))
    generator = torch.Generator(data.targets.device).manual_seed(batch)
    reached = torch.full((len(each),), inf, device=data.targets.device)
    often = max(2, min(8, 64 // batch))  # to look costs more than a small step
    for done in range(1, number + 1):
        step(weights, *draw_batches(data, len(each), batch, generator), each)
        if done % often == 0:
            now = evaluate(weights, data.inputs[:WATCHED], data.targets[:WATCHED])
            reached[(now <= target) & reached.isinf()] = done
            if reached.view(len(rates), -1).isfinite().all(1).any():
                break
    return dict(zip(rates, reached.view(len(rates), -1).tolist(), strict=True))


def train(
    data: Data, batch: int, schedules: Sequence[tuple[float, float]], seeds: Sequence[int], n: int
) -> list[list[float]]:
    """Returns the test losses of the seeds after ``n`` examples, for each schedule: a learning rate and a warm-up.

    The rate rises linearly over the warm-up, a share of all steps. Source: Goyal et al., Accurate, Large Minibatch
    SGD, 2017, section 2.2.
    """
    weights = networks(seeds, len(schedules), data.targets.device)
    generator = torch.Generator(data.targets.device).manual_seed(batch)
    steps = max(1, n // batch)
    rates, warm_up = torch.tensor(schedules, device=data.targets.device).repeat_interleave(len(seeds), 0).T
    for done in range(1, steps + 1):
        now = rates * (done / (warm_up * steps).clamp(min=1)).clamp(max=1)
        step(weights, *draw_batches(data, len(rates), batch, generator), now)
    return evaluate(weights, data.test_inputs, data.test_targets).view(len(schedules), -1).tolist()


def noise_scale(own: float, averaged: float, n: int, k: int) -> float:
    """Returns the gradient noise scale, in examples.

    ``own`` is the mean squared norm of k devices' gradients, each of n
    examples; ``averaged`` is that of their average.
    """
    noise = (own - averaged) / (1 / n - 1 / (k * n))  # the trace of Σ
    signal = (k * n * averaged - n * own) / (k * n - n)  # |G|²
    return noise / signal if signal > 0 else inf


def squared_norms(
    target: float, data: Data, share: int, k: int, rate: float, seeds: Sequence[int], number: int = 400
) -> tuple[float, float]:
    """Returns the squared norm of a device's own gradient, of ``share`` examples, and that of the average of k.

    Both are means over the seeds and over all steps until the batches have the ``target`` loss, or over ``number``
    steps. One process plays the k devices, whose average changes the weights.
    """
    weights, found = networks(seeds, 1, data.targets.device), []
    generator = torch.Generator(data.targets.device).manual_seed(0)
    for _ in range(max(1, number)):
        copies = [w.detach().repeat_interleave(k, 0).requires_grad_() for w in weights]
        loss = losses(copies, *draw_batches(data, k * len(seeds), share, generator))
        gradients = torch.autograd.grad(loss.sum(), copies)
        own = torch.cat([g.flatten(1) for g in gradients], 1).view(len(seeds), k, -1)
        found.append((_square(own), _square(own.mean(1))))
        with torch.no_grad():
            for w, g in zip(weights, gradients, strict=True):
                w -= rate * g.unflatten(0, (len(seeds), k)).mean(1)
        if loss.mean() <= target:
            break
    own_norm, averaged = (fmean(side) for side in zip(*found, strict=True))
    return own_norm, averaged


def _square(gradients: Tensor) -> float:
    """Returns the squared norm of a gradient, the last dimension, averaged over the others."""
    return gradients.square().sum(-1).mean().item()
