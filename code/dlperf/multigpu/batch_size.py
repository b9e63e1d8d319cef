"""How large a batch is of use: steps to a loss against the batch, the noise of gradients, and the learning rate.

Small perceptrons learn scikit-learn's digits, many of them side by side in stacked tensors, each with a learning rate
and a seed of its own. The chapter *Training on multiple GPUs, from scratch* tells the story.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt
from statistics import median

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from dlperf.environment import lacking
from dlperf.multigpu.datasets import Data

HIDDEN = 64
"""Units between the 64 points of a digit and its ten scores."""

WATCHED = 500
"""Examples of the training set on whose loss the end of a run is decided."""


def digits(device: torch.device | str = "cpu", train: int = 1000) -> Data:
    """Returns scikit-learn's 1,797 digits as they are, 8 x 8 points; the first ``train`` of a fixed order to train on.

    Images have the shape (n, 1, 8, 8) and go from -0.5 to 0.5. Raises ImportError without scikit-learn.
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise ImportError(lacking("scikit-learn")) from None
    found = load_digits()
    order = torch.randperm(len(found.target), generator=torch.Generator().manual_seed(0))
    images = torch.from_numpy(found.images).float().div(16).sub(0.5)[order].unsqueeze(1).to(device)
    labels = torch.from_numpy(found.target).long()[order].to(device)
    return Data(images[:train], labels[:train], images[train:], labels[train:])


def perceptrons(seeds: Sequence[int], copies: int = 1, device: torch.device | str = "cpu") -> list[Tensor]:
    """Returns the weights of ``copies`` perceptrons for each seed, stacked: (copies x seeds, inputs, outputs)."""
    stacks = []
    for seed in seeds:
        draw = torch.Generator().manual_seed(seed)
        sizes = ((64, HIDDEN), (HIDDEN, 10))
        stacks.append([torch.randn(size, generator=draw) * sqrt(2 / size[0]) for size in sizes])
    first, second = (torch.stack(each).repeat(copies, 1, 1).to(device) for each in zip(*stacks, strict=True))
    number = len(first)
    biases = (torch.zeros(number, 1, width, device=device) for width in (HIDDEN, 10))
    return [tensor.requires_grad_() for pair in zip((first, second), biases, strict=True) for tensor in pair]


def losses(weights: list[Tensor], x: Tensor, y: Tensor) -> Tensor:
    """Returns each network's loss on a batch of its own: x (networks, batch, 64), y (networks, batch)."""
    each = F.cross_entropy(scores(weights, x).flatten(0, 1), y.flatten(), reduction="none")
    return each.view(y.shape).mean(1)


def scores(weights: list[Tensor], x: Tensor) -> Tensor:
    """Returns ten scores for each example of each network."""
    W1, b1, W2, b2 = weights
    return torch.relu(x @ W1 + b1) @ W2 + b2


def step(weights: list[Tensor], x: Tensor, y: Tensor, rates: Tensor) -> None:
    """Changes each network once, by the gradient of its batch times its own learning rate."""
    gradients = torch.autograd.grad(losses(weights, x, y).sum(), weights)
    with torch.no_grad():
        for w, g in zip(weights, gradients, strict=True):
            w -= rates.view(-1, 1, 1) * g


def draws(data: Data, number: int, batch: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Returns a batch for each of so many networks, drawn with replacement: (number, batch, 64), (number, batch)."""
    chosen = torch.randint(len(data.labels), (number, batch), generator=generator, device=data.labels.device)
    return data.images[chosen].flatten(2), data.labels[chosen]


def steps_to(
    target: float, data: Data, batch: int, rates: Sequence[float], seeds: Sequence[int], most: int = 20_000
) -> dict[float, list[float]]:
    """Returns after how many steps each learning rate brought each seed to the ``target`` loss; inf where not.

    It ends as soon as one rate has brought every seed there, or after the ``most`` steps.
    """
    weights = perceptrons(seeds, len(rates), data.labels.device)
    each = torch.tensor(rates, device=data.labels.device).repeat_interleave(len(seeds))
    generator = torch.Generator(data.labels.device).manual_seed(batch)
    watched = data.images[:WATCHED].flatten(1), data.labels[:WATCHED]
    reached = torch.full((len(each),), inf, device=data.labels.device)
    often = max(1, 32 // batch)  # to look costs more than a small step
    for done in range(1, most + 1):
        step(weights, *draws(data, len(each), batch, generator), each)
        if done % often == 0:
            with torch.no_grad():
                now = losses(weights, watched[0].expand(len(each), -1, -1), watched[1].expand(len(each), -1))
            reached[(now <= target) & reached.isinf()] = done
            if reached.view(len(rates), -1).isfinite().all(1).any():
                break
    return dict(zip(rates, reached.view(len(rates), -1).tolist(), strict=True))


def best(found: dict[float, list[float]]) -> tuple[float, list[float]]:
    """Returns the learning rate with the smallest median, of those that brought every seed there, and its steps.

    Raises ValueError where none did: then more steps or other rates are needed.
    """
    whole = {rate: steps for rate, steps in found.items() if inf not in steps}
    if not whole:
        raise ValueError(f"no learning rate of {sorted(found)} brought every seed to the loss")
    rate = min(whole, key=lambda rate: median(whole[rate]))
    return rate, whole[rate]


def fit(batches: Sequence[int], steps: Sequence[float]) -> tuple[float, float]:
    """Returns S and B of steps = S (1 + B / batch): the least steps there are, and the critical batch size.

    By least squares of relative errors. Source: McCandlish et al., An Empirical Model of Large-Batch Training, 2018,
    equation 2.11.
    """
    needed = np.asarray(steps, dtype=float)
    rows = np.stack([1 / needed, 1 / (needed * np.asarray(batches))], axis=1)
    least, product = np.linalg.lstsq(rows, np.ones(len(needed)), rcond=None)[0]
    return float(least), float(product / least)


def trained(
    data: Data, batch: int, ways: Sequence[tuple[float, float]], seeds: Sequence[int], examples: int
) -> list[list[float]]:
    """Returns the test accuracies of the seeds for each way, a learning rate and a warm-up, after so many examples.

    The rate rises linearly over the warm-up, a share of all steps, as in Goyal et al., Accurate, Large Minibatch SGD,
    2017, section 2.2.
    """
    weights = perceptrons(seeds, len(ways), data.labels.device)
    generator = torch.Generator(data.labels.device).manual_seed(batch)
    steps = examples // batch
    rates, rising = torch.tensor(ways, device=data.labels.device).repeat_interleave(len(seeds), 0).T
    for done in range(1, steps + 1):
        now = rates * (done / (rising * steps).clamp(min=1)).clamp(max=1)
        step(weights, *draws(data, len(rates), batch, generator), now)
    with torch.no_grad():
        found = scores(weights, data.test_images.flatten(1)).argmax(2)
    return (found == data.test_labels).float().mean(1).view(len(ways), -1).tolist()


def noise_scale(own: float, averaged: float, n: int, k: int) -> float:
    """Returns the gradient noise scale, in examples.

    ``own`` is the mean squared norm of k devices' gradients, each of n
    examples; ``averaged`` is that of their average.
    """
    noise = (own - averaged) / (1 / n - 1 / (k * n))  # the trace of Σ
    signal = (k * n * averaged - n * own) / (k * n - n)  # |G|²
    return noise / signal


def noise_along(
    target: float, data: Data, n: int, k: int, rate: float, seeds: Sequence[int], most: int = 500
) -> list[float]:
    """Returns the noise scale at each step until the mean loss of the batches is at the ``target``.

    One process plays k devices with n examples each, whose average changes the weights; squared norms are averaged
    over the seeds before their ratio is taken, which one gradient alone would make too noisy.
    """
    weights, found = perceptrons(seeds, 1, data.labels.device), []
    generator = torch.Generator(data.labels.device).manual_seed(0)
    for _ in range(most):
        x, y = draws(data, k * len(seeds), n, generator)
        copies = [w.detach().repeat_interleave(k, 0).requires_grad_() for w in weights]
        loss = losses(copies, x, y)
        gradients = torch.autograd.grad(loss.sum(), copies)
        own = torch.cat([g.flatten(1) for g in gradients], 1).view(len(seeds), k, -1)
        averaged = [g.unflatten(0, (len(seeds), k)).mean(1) for g in gradients]
        together = own.mean(1)
        found.append(noise_scale(_square(own), _square(together), n, k))
        with torch.no_grad():
            for w, g in zip(weights, averaged, strict=True):
                w -= rate * g
        if loss.mean() <= target:
            break
    return found


def _square(gradients: Tensor) -> float:
    """Returns the squared norm of a gradient, the last dimension, averaged over the others."""
    return gradients.square().sum(-1).mean().item()
