"""Published steps of large GPTs on A100 GPUs, one of which is given to a model, and the others not.

Source of all: Narayanan et al., *Efficient large-scale language model training on GPU clusters using Megatron-LM*,
SC 2021, tables 1 and 2. The chapter *Training on multiple GPUs, concisely* compares `dlperf.concise.at_scale` with
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dlperf.alpha_beta import Line
from dlperf.concise import at_scale
from dlperf.concise.at_scale import GPT, Cluster, Step

LATENCY = 5e-6
"""Seconds of a message between two GPUs: assumed, since the paper gives none."""


@dataclass(frozen=True)
class Run:
    """A published run: so many TFLOP/s on each of ``gpus``, with ``sequences`` a step.

    ``tensor`` GPUs share a layer. If ``stages``, the layers are spread over several nodes besides.
    """

    model: GPT
    gpus: int
    sequences: int
    tflops: float
    way: str = "tensor × data"
    tensor: int = 8
    stages: bool = False

    @property
    def seconds(self) -> float:
        """Of a step, published: its FLOP over the rate of all GPUs."""
        return self.model.flops(self.sequences) / (self.gpus * self.tflops * 1e12)

    def predict(self, cluster: Cluster) -> Step:
        """Returns the predicted step; stages are left out, as if they cost nothing."""
        if self.way == "tensor × data":
            return at_scale.tensor_data(self.model, cluster, self.gpus, self.sequences, self.tensor)
        return at_scale.WAYS[self.way](self.model, cluster, self.gpus, self.sequences)


GPT3 = GPT(layers=96, width=12_288)
"""GPT-3 with the vocabulary of the same paper: 174.6 billion parameters."""

GIVEN = Run(GPT(24, 2304), 32, 512, 137, "data", tensor=1)
"""The first row of table 1, 1.7 billion parameters: the only one in which nothing but gradients is sent."""

BY_TENSOR = (
    Run(GPT(30, 3072), 64, 512, 138, tensor=2),
    Run(GPT(36, 4096), 128, 512, 142, tensor=4),
    Run(GPT(40, 6144), 256, 1024, 135),
)
"""The other rows of table 1 without stages: 3.6 to 18.4 billion parameters."""

IN_STAGES = (
    Run(GPT(48, 8192), 512, 1536, 138, stages=True),
    Run(GPT(60, 10_240), 1024, 1792, 140, stages=True),
    Run(GPT(80, 12_288), 1536, 2304, 148, stages=True),
    Run(GPT(96, 16_384), 1920, 2160, 155, stages=True),
    Run(GPT(105, 20_480), 2520, 2520, 163, stages=True),
    Run(GPT(128, 25_600), 3072, 3072, 163, stages=True),
)
"""The rows of table 1 with 2 to 64 stages: 39 billion to a trillion parameters."""

GPT3_IN_STAGES = tuple(
    Run(GPT3, gpus, 1536, tflops, stages=True) for gpus, tflops in ((384, 153), (768, 149), (1536, 141))
)
"""GPT-3 by tensor, data and stages. Source: table 2."""

GPT3_SHARDED = tuple(
    Run(GPT3, gpus, 1536, tflops, "sharded", tensor=1) for gpus, tflops in ((384, 144), (768, 88), (1536, 44))
)
"""GPT-3 under ZeRO's third stage, which shards everything. Source: table 2."""

UNSEEN = (*BY_TENSOR, *IN_STAGES, *GPT3_IN_STAGES, *GPT3_SHARDED)
"""The rows that a model is to predict."""


def a100(flops: float) -> Cluster:
    """Returns the paper's cluster, on which each GPU computes ``flops`` FLOP/s.

    Nodes of eight A100 with 80 GB. Each GPU has 200 Gbit/s to other nodes, and 600 GB/s, both ways together, within
    its own. Source: section 5; the latency is an assumption.
    """
    return Cluster(flops, memory=80e9, between=Line(LATENCY, 1 / 25e9), inner=Line(LATENCY, 1 / 300e9))


def fits(cluster: Cluster, runs: Sequence[Run] = UNSEEN) -> list[float]:
    """Returns predicted over published seconds of a step, for each of ``runs``."""
    return [run.predict(cluster).seconds / run.seconds for run in runs]


def fits_of_computing(cluster: Cluster, runs: Sequence[Run] = UNSEEN) -> list[float]:
    """Returns the same for a step in which sending costs nothing: the rival of the model."""
    return [run.predict(cluster).compute / run.seconds for run in runs]
