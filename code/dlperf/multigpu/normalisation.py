"""Batch norm on several devices: by the statistics of each device's share of the batch, or of all shares together.

The chapter *Training on multiple GPUs, from scratch* tells the story.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from dlperf.multigpu import batch_size
from dlperf.multigpu.datasets import Data
from dlperf.multigpu.group import device_of

EPS = 1e-5
"""What is added to a variance, as in PyTorch."""

MOMENTUM = 0.1
"""The share of the newest statistics in the running ones, as in PyTorch."""


class Total(torch.autograd.Function):
    """The sum of a tensor over all processes; its gradient too."""

    @staticmethod
    def forward(ctx, x, group=None):
        ctx.group, total = group, x.clone()
        dist.all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(ctx, gradient):
        total = gradient.clone()
        dist.all_reduce(total, group=ctx.group)
        return total, None


def synchronised(x, group=None):
    """Returns x normalised by the statistics of all processes.

    x has the shape (examples, channels, ...). Also returns mean and
    variance of each channel, and over how many values they go.
    """
    dims = [0, *range(2, x.dim())]
    count = Total.apply(x.new_tensor(x.numel() / x.shape[1]), group)
    mean = Total.apply(x.sum(dims, keepdim=True), group) / count
    rest = x - mean
    squares = (rest * rest).sum(dims, keepdim=True)
    variance = Total.apply(squares, group) / count
    return rest * torch.rsqrt(variance + EPS), mean, variance, count


class Synchronised(nn.BatchNorm2d):
    """Batch norm over the examples of all processes of a group: ``nn.SyncBatchNorm``, which refuses a CPU, by hand."""

    def __init__(self, channels: int, group: dist.ProcessGroup | None = None) -> None:
        super().__init__(channels)
        self.group = group

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return super().forward(x)
        normal, mean, variance, count = synchronised(x, self.group)
        with torch.no_grad():
            assert self.running_mean is not None
            assert self.running_var is not None
            self.running_mean.lerp_(mean.flatten(), MOMENTUM)
            self.running_var.lerp_((variance * count / (count - 1)).flatten(), MOMENTUM)
        return normal * self.weight.view(-1, 1, 1) + self.bias.view(-1, 1, 1)


def errors(rank: int, size: int, share: int, dtype: torch.dtype = torch.float32) -> dict[str, float]:
    """Returns how far process ``rank`` with ``share`` images is from batch norm over the whole batch on one device.

    ``synchronised`` and ``alone`` normalise by the statistics of all processes, and of its own; ``synchronised
    gradient`` and ``alone gradient`` say the same of the gradient of the input. All over the largest value.
    """
    device = device_of(rank, size)
    draw = torch.Generator().manual_seed(share)
    shape = (size * share, 8, 8, 8)
    whole = (2 * torch.randn(shape, generator=draw, dtype=torch.float64) + 1).to(device, dtype).requires_grad_()
    pull = torch.randn(shape, generator=draw, dtype=torch.float64).to(device, dtype)
    right = F.batch_norm(whole, None, None, training=True, eps=EPS)
    mine = slice(rank * share, (rank + 1) * share)
    (slope,) = torch.autograd.grad((right * pull).sum(), whole)
    found = {}
    for name in ("synchronised", "alone"):
        x = whole[mine].detach().clone().requires_grad_()
        y = synchronised(x)[0] if name == "synchronised" else F.batch_norm(x, None, None, training=True, eps=EPS)
        (gradient,) = torch.autograd.grad((y * pull[mine]).sum(), x)
        found[name] = _far(y, right[mine])
        found[f"{name} gradient"] = _far(gradient, slope[mine])
    return found


def _far(found: Tensor, right: Tensor) -> float:
    return ((found - right).abs().max() / right.abs().max()).item()


def per_device(z: Tensor, devices: int) -> tuple[Tensor, Tensor, Tensor]:
    """Returns what so many devices make of a batch (networks, batch, units), each with a share of it.

    Each share is normalised by its own mean and variance; those of the first device come back too.
    """
    shares = z.unflatten(1, (devices, -1))
    mean = shares.mean(2, keepdim=True)
    variance = shares.var(2, unbiased=False, keepdim=True)
    normal = (shares - mean) * torch.rsqrt(variance + EPS)
    return normal.flatten(1, 2), mean[:, 0], variance[:, 0]


def spread(data: Data, n: int, draws: int = 400) -> float:
    """Returns how far the means of shares of ``n`` examples lie apart, over the deviation of one example.

    The values are those of the units of an untrained perceptron; both are root mean squares over them.
    """
    W1, b1, *_ = (w.detach() for w in batch_size.perceptrons((0,), 1, data.labels.device))
    generator = torch.Generator(data.labels.device).manual_seed(n)
    x, _ = batch_size.draws(data, draws, n, generator)
    z = data.images.flatten(1) @ W1[0] + b1[0]
    means = (x @ W1[0] + b1[0]).mean(1)
    return float((means.var(0).mean() / z.var(0).mean()).sqrt())


def accuracies(
    data: Data, devices: int, seeds: Sequence[int], batch: int = 32, rate: float = 0.1, steps: int = 300
) -> list[float]:
    """Returns the test accuracy of perceptrons with batch norm, a seed each, trained on ``batch`` examples a step.

    So many ``devices`` share the batch, and each normalises its part by its own statistics; the first device's
    running statistics are those of the test. One process plays them all: their gradients add up to the batch's.
    """
    if batch % devices or batch // devices < 2:
        raise ValueError(f"{devices} devices divide the batch into equal parts of at least 2, got a batch of {batch}")
    weights = batch_size.perceptrons(seeds, 1, data.labels.device)
    generator = torch.Generator(data.labels.device).manual_seed(1)
    n = batch // devices
    W1, b1, W2, b2 = weights
    shown = torch.zeros_like(b1), torch.ones_like(b1)
    for _ in range(steps):
        x, y = batch_size.draws(data, len(seeds), batch, generator)
        normal, mean, variance = per_device(x @ W1, devices)
        scores = torch.relu(normal + b1) @ W2 + b2
        loss = F.cross_entropy(scores.flatten(0, 1), y.flatten()) * len(seeds)
        gradients = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for w, g in zip(weights, gradients, strict=True):
                w -= rate * g
            shown[0].lerp_(mean, MOMENTUM)
            shown[1].lerp_(variance * n / (n - 1), MOMENTUM)
    with torch.no_grad():
        normal = (data.test_images.flatten(1) @ W1 - shown[0]) * torch.rsqrt(shown[1] + EPS)
        scores = torch.relu(normal + b1) @ W2 + b2
        return (scores.argmax(2) == data.test_labels).float().mean(1).tolist()
