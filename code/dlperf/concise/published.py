"""Published figures of large training runs, for the chapter *Multiple GPUs, concisely* to compare with."""

from __future__ import annotations

from dataclasses import dataclass

from dlperf.concise.at_scale import Cluster, Transformer

PEAK = 312e12
"""FLOP/s of an A100 in half precision. Source: Narayanan et al., SC 2021, section 5."""

SELENE = Cluster(flops=PEAK, memory=80e9, bandwidth=25e9, inner=300e9, latency=5e-6)
"""Nodes of eight A100 with 80 GB, each with 200 Gbit/s to other nodes and 600 GB/s, both ways together, within.

Source: the same; the latency is an assumption, a usual one.
"""

GPT3 = Transformer(layers=96, width=12_288)
"""GPT-3 with the vocabulary of the same paper: 174.6 billion parameters."""


@dataclass(frozen=True)
class Run:
    """So many TFLOP/s on each of ``gpus``, on ``sequences`` a step; ``tensor`` GPUs share a layer."""

    model: Transformer
    gpus: int
    sequences: int
    tflops: float
    tensor: int = 1

    @property
    def seconds(self) -> float:
        """Of a step."""
        return self.model.flops(self.sequences) / (self.gpus * self.tflops * 1e12)


WITHOUT_PIPELINE = (
    Run(Transformer(24, 2304), 32, 512, 137, 1),
    Run(Transformer(30, 3072), 64, 512, 138, 2),
    Run(Transformer(36, 4096), 128, 512, 142, 4),
    Run(Transformer(40, 6144), 256, 1024, 135, 8),
)
"""Tensor times data. Source: Narayanan et al., SC 2021, table 1, the rows with one pipeline stage."""

WITH_PIPELINE = (
    Run(Transformer(48, 8192), 512, 1536, 138, 8),
    Run(Transformer(60, 10_240), 1024, 1792, 140, 8),
    Run(Transformer(80, 12_288), 1536, 2304, 148, 8),
    Run(Transformer(96, 16_384), 1920, 2160, 155, 8),
    Run(Transformer(105, 20_480), 2520, 2520, 163, 8),
    Run(Transformer(128, 25_600), 3072, 3072, 163, 8),
)
"""The other rows: 39 billion to a trillion parameters, in 2 to 64 stages."""

SHARDED = tuple(Run(GPT3, gpus, 1536, tflops) for gpus, tflops in ((384, 144), (768, 88), (1536, 44)))
"""GPT-3 under ZeRO's stage 3, without model parallelism. Source: the same, table 2."""

ALL_THREE = tuple(Run(GPT3, gpus, 1536, tflops, 8) for gpus, tflops in ((384, 153), (768, 149), (1536, 141)))
"""The same by pipeline, tensor and data. Source: the same table."""
