"""A training step on up to thousands of devices, from α, β and FLOP/s: by data, sharded, and tensor times data.

The chapter *Multiple GPUs, concisely* tells the story. All sizes are in bytes, all times in seconds; a message between
two devices takes ``latency + bytes / bandwidth``. Published figures that the page compares with stand in
`dlperf.concise.published`.
"""

from __future__ import annotations

from dataclasses import dataclass

BYTES = 2
"""Of a weight, a gradient and an activation in half precision."""
STATE = 16
"""Bytes that Adam needs for each parameter in mixed precision: weight and gradient 2 each; weight, two moments 4 each.

Source: Rajbhandari et al., ZeRO, SC 2020, section 3.1.
"""


@dataclass(frozen=True)
class Transformer:
    """A GPT of so many ``layers`` and ``width``, on sequences of ``context`` tokens.

    Source of its formulas: Narayanan et al., SC 2021, equations 2 and 3; with activations computed again.
    """

    layers: int
    width: int
    context: int = 2048
    vocabulary: int = 51_200

    @property
    def parameters(self) -> float:
        """P = 12 l h² (1 + 13 / 12h + (V + s) / 12lh)."""
        n, h = self.layers, self.width
        return 12 * n * h**2 * (1 + 13 / (12 * h) + (self.vocabulary + self.context) / (12 * n * h))

    def flops(self, sequences: float) -> float:
        """F = 96 B s l h² (1 + s / 6h + V / 16lh), of one step on so many sequences."""
        n, h, s = self.layers, self.width, self.context
        return 96 * sequences * s * n * h**2 * (1 + s / (6 * h) + self.vocabulary / (16 * n * h))


@dataclass(frozen=True)
class Cluster:
    """Devices that compute ``flops`` FLOP/s, with ``memory``; ``node`` of them are joined by faster links.

    A device sends ``bandwidth`` B/s to another node and ``inner`` B/s within its own, while it receives as much.
    """

    flops: float
    memory: float
    bandwidth: float
    inner: float
    latency: float = 0.0
    node: int = 8


@dataclass(frozen=True)
class Step:
    """The seconds of a step's computation, of what no computation can hide, and of what may be hidden behind it."""

    compute: float
    exposed: float = 0.0
    hidden: float = 0.0

    @property
    def overlapped(self) -> float:
        """The seconds if all that can be hidden is: as fast as the links allow."""
        return max(self.compute + self.exposed, self.hidden)

    @property
    def in_turn(self) -> float:
        """The seconds if nothing is hidden."""
        return self.compute + self.exposed + self.hidden


def all_reduce(size: float, k: int, latency: float, bandwidth: float) -> float:
    """2 (k - 1) (α + S / kB): a ring's; a share comes by 2 (k - 1) times."""
    return 2 * (k - 1) * (latency + size / (k * bandwidth))


def all_gather(size: float, k: int, latency: float, bandwidth: float) -> float:
    """(k - 1) (α + S / kB): half of an all-reduce; a reduce-scatter is the other half."""
    return all_reduce(size, k, latency, bandwidth) / 2


def data_parallel(model: Transformer, cluster: Cluster, k: int, sequences: int) -> Step:
    """Every device holds all; gradients are all-reduced while the backward pass goes on."""
    compute = model.flops(sequences) / (k * cluster.flops)
    return Step(compute, hidden=all_reduce(BYTES * model.parameters, k, cluster.latency, _between(cluster, k)))


def sharded(
    model: Transformer,
    cluster: Cluster,
    k: int,
    sequences: int,
) -> Step:
    """Weights are gathered for each pass, layer by layer.

    Gradients are scattered: half as much again as by data.
    """
    size = BYTES * model.parameters / model.layers
    rate = _between(cluster, k)
    once = all_gather(size, k, cluster.latency, rate)
    compute = model.flops(sequences) / (k * cluster.flops)
    return Step(compute, hidden=3 * model.layers * once)


def tensor_data(model: Transformer, cluster: Cluster, k: int, sequences: int, tensor: int = 8) -> Step:
    """So many devices of a node share each layer; nodes share the batch.

    A layer all-reduces its activations twice in each of three passes (forward, again, backward), which all wait for;
    each device all-reduces the gradients of its share of the weights. Source: Narayanan et al., section 3.2.
    """
    if k % tensor or tensor > cluster.node:
        raise ValueError(f"{tensor} devices share a layer: k must be a multiple, a node as large; got k={k}")
    data = k // tensor
    activations = BYTES * sequences / data * model.context * model.width
    layer = all_reduce(activations, tensor, cluster.latency, cluster.inner)
    gradients = all_reduce(BYTES * model.parameters / tensor, data, cluster.latency, cluster.bandwidth)
    return Step(model.flops(sequences) / (k * cluster.flops), exposed=6 * model.layers * layer, hidden=gradients)


def state(model: Transformer, devices: int) -> float:
    """16 P / n: what each of n devices holds that share weights, gradients and Adam's state, without activations."""
    return STATE * model.parameters / devices


def flat_from(model: Transformer, cluster: Cluster, sequences: int) -> float:
    """k* = F B / (3 · 2 P f): from so many devices on, sharded, the links decide, and more gain nothing.

    There computation, F / (k f), takes as long as the exchange, which for many devices is 6 P / B.
    """
    return model.flops(sequences) * cluster.bandwidth / (3 * BYTES * model.parameters * cluster.flops)


def _between(cluster: Cluster, k: int) -> float:
    """Returns the rate of a ring over k devices: of its slowest link."""
    return cluster.inner if k <= cluster.node else cluster.bandwidth
