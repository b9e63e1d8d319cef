"""A training step of a GPT on 8 to thousands of GPUs: split by data, sharded, and by tensor times data.

The model is that of `dlperf.multigpu.reduce_costs`: a ring over k devices is as fast as its slowest link, and each
message takes α and β for each byte. All sizes are in bytes, all times in seconds, all rates in FLOP/s. The chapter
*Training on multiple GPUs, concisely* tells the story, and compares it with `dlperf.concise.published`.
"""

from __future__ import annotations

from dataclasses import dataclass

from dlperf.alpha_beta import Line
from dlperf.multigpu import reduce_costs

BYTES = 2
"""Of a weight, a gradient and an activation in half precision."""
STATE = 16
"""Bytes for each parameter with Adam in mixed precision: weight and gradient 2 each; weight and two moments 4 each.

Source: Rajbhandari et al., ZeRO, SC 2020, section 3.1.
"""
SENT = {"data": 2 * BYTES, "sharded": 3 * BYTES, "tensor × data": 2 * BYTES / 8}
"""Bytes that a GPU sends for each parameter of the model in a step that many share: gradients around a ring once;
weights gathered twice and gradients scattered once; gradients of an eighth of the weights.
"""


@dataclass(frozen=True)
class GPT:
    """A GPT of so many ``layers`` and ``width``, trained on sequences of ``context`` tokens."""

    layers: int
    width: int
    context: int = 2048
    vocabulary: int = 51_200

    @property
    def parameters(self) -> float:
        """P = 12 l h² (1 + 13 / 12h + (V + s) / 12lh). Source: Narayanan et al., SC 2021, equation 2."""
        layers, h = self.layers, self.width
        return 12 * layers * h**2 * (1 + 13 / (12 * h) + (self.vocabulary + self.context) / (12 * layers * h))

    def flops(self, sequences: float) -> float:
        """F = 96 B s l h² (1 + s / 6h + V / 16lh): of a step, with activations computed twice.

        Source: Narayanan et al., SC 2021, equation 3.
        """
        layers, h, s = self.layers, self.width, self.context
        return 96 * sequences * s * layers * h**2 * (1 + s / (6 * h) + self.vocabulary / (16 * layers * h))


@dataclass(frozen=True)
class Cluster:
    """GPUs that compute ``flops`` FLOP/s and have ``memory`` bytes; ``node`` of them share a machine.

    A GPU sends to another node by the link ``between``, and within its node by ``inner``.
    """

    flops: float
    memory: float
    between: Line
    inner: Line
    node: int = 8

    def link(self, k: int) -> Line:
        """Returns the slowest link of a ring over k GPUs."""
        return self.inner if k <= self.node else self.between


@dataclass(frozen=True)
class Step:
    """The seconds in which a GPU computes, of exchange for which it waits, and of exchange beside computing."""

    compute: float
    exposed: float
    beside: float

    @property
    def seconds(self) -> float:
        """Of the whole step, if exchange beside computing is hidden as far as possible."""
        return max(self.compute + self.exposed, self.beside)


def data_parallel(
    model: GPT,
    cluster: Cluster,
    k: int,
    sequences: float,
) -> Step:
    """Returns a step of k GPUs with all weights each: gradients go around a ring."""
    compute = model.flops(sequences) / (k * cluster.flops)
    size = BYTES * model.parameters
    return Step(compute, 0, reduce_costs.seconds("ring", k, size, cluster.link(k)))


def sharded(
    model: GPT,
    cluster: Cluster,
    k: int,
    sequences: float,
) -> Step:
    """Returns a step of k GPUs that keep a k-th of the weights each.

    Each layer's weights are gathered twice, its gradients scattered
    once; each of the three is half of an all-reduce.
    """
    compute = model.flops(sequences) / (k * cluster.flops)
    layer = BYTES * model.parameters / model.layers
    ring = reduce_costs.seconds("ring", k, layer, cluster.link(k))
    return Step(compute, exposed=0, beside=model.layers * 3 * ring / 2)


def tensor_data(model: GPT, cluster: Cluster, k: int, sequences: float, tensor: int = 8) -> Step:
    """Returns a step of k GPUs of which ``tensor`` in a node share each layer, and such groups share the batch.

    A layer all-reduces its activations twice in each of three passes (forward, again, backward), and computing waits.
    Gradients of a GPU's share of the weights go around a ring of all groups. Raises ValueError if ``tensor`` does not
    divide k, or is larger than a node. Source: Narayanan et al., SC 2021, section 3.2.
    """
    if k % tensor or tensor > cluster.node:
        raise ValueError(f"{tensor} GPUs share a layer: k must be a multiple, and a node as large; got k={k}")
    groups = k // tensor
    activations = BYTES * sequences / groups * model.context * model.width
    layer = reduce_costs.seconds("ring", tensor, activations, cluster.inner)
    gradients = reduce_costs.seconds("ring", groups, BYTES * model.parameters / tensor, cluster.link(k))
    compute = model.flops(sequences) / (k * cluster.flops)
    return Step(compute, exposed=6 * model.layers * layer, beside=gradients)


WAYS = {"data": data_parallel, "sharded": sharded, "tensor × data": tensor_data}


def state(model: GPT, devices: int) -> float:
    """Returns 16 P / n: bytes on each of n devices that share weights, gradients and Adam's state."""
    return STATE * model.parameters / devices


def flat_from(
    model: GPT,
    cluster: Cluster,
    sequences: float,
    way: str = "sharded",
) -> float:
    """Returns k* = F B / (n P f), at which exchange takes as long as
    computing: F / (k f) = n P / B, where a GPU sends n bytes for each
    parameter in a step. From there on more GPUs gain nothing.
    """
    rate = cluster.between.bandwidth / cluster.flops
    return model.flops(sequences) * rate / (SENT[way] * model.parameters)
