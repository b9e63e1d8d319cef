"""Predict bytes sent, memory and efficiency of data, tensor and pipeline parallelism, and choose among them.

The chapter *Training on multiple GPUs, from scratch* holds measurements against the first two, and decides by the last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dlperf.multigpu.pipeline import bubble
from dlperf.multigpu.splits import Case, Strategy

SEQUENCE = 2048
"""The tokens of a sequence: a batch has no more micro-batches than sequences."""
STATE = 16
"""Bytes for each weight: two of 16 bits for it and its gradient, three of 32 bits for Adam.

Source: Rajbhandari et al., ZeRO: memory optimizations toward training trillion parameter models, 2020, section 3.1.
"""


def summed(values: float, devices: int) -> float:
    """Returns how many values each device sends in an all-reduce of so many, at least.

    Source: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009.
    """
    return 2 * (devices - 1) / devices * values


def predicted_bytes(case: Case, devices: int = 2) -> float:
    """Returns the bytes that a device sends in a step; by network, that one of two has a layer each."""
    n, d, h = case.sizes.rows, case.sizes.width, case.sizes.hidden
    values = {
        Strategy.DATA: summed(2 * d * h, devices),
        Strategy.LAYER: summed(2 * n * d, devices),
        Strategy.NETWORK: n * h,
    }
    return values[case.strategy] * case.sizes.dtype.itemsize


def predicted_memory(case: Case, devices: int = 2) -> float:
    """Returns the bytes of tensors that a device has at the end of a step, when they are most.

    Weights and their gradients; of each row inputs and targets, what both layers return, and the gradients of that
    and of the inputs. By network of two devices a layer each, autograd holds one gradient of the weights more, before
    it is added to the sum of the earlier ones, and that of a micro-batch's output.
    """
    n, d, h, k, m = case.sizes.rows, case.sizes.width, case.sizes.hidden, devices, case.micro_batches
    weights, activations = 2 * d * h, n * (4 * d + 2 * h)
    values = {
        Strategy.DATA: 2 * weights + activations / k,
        Strategy.LAYER: 2 * weights / k + n * (4 * d + 2 * h / k),
        Strategy.NETWORK: weights + (d * h if m > 1 else 0) + 2 * n * (d + h) + n * d / m,
    }
    return values[case.strategy] * case.sizes.dtype.itemsize


@dataclass(frozen=True)
class Plan:
    """A transformer of so many ``layers`` of a ``width``, a batch of ``tokens``, and ``devices`` at links of ``rate``.

    Rate in B/s; each device has ``memory`` bytes and computes ``flops`` FLOP/s in training.
    """

    layers: int
    width: int
    tokens: int
    devices: int
    rate: float
    memory: float = 80e9
    flops: float = 400e12

    @property
    def weights(self) -> int:
        """The weights of all layers: 4 d² of attention and 8 d² of the perceptron in each."""
        return 12 * self.layers * self.width**2

    @property
    def computing(self) -> float:
        """The seconds that each device computes: 6 FLOP for each weight and token.

        Source: Kaplan et al., Scaling laws for neural language models, 2020, section 2.1.
        """
        return 6 * self.weights * self.tokens / self.devices / self.flops

    def fits(self, strategy: Strategy) -> bool:
        """Returns whether a device has the memory for its weights, their gradients and Adam's state."""
        parts = 1 if strategy is Strategy.DATA else self.devices
        return STATE * self.weights / parts <= self.memory

    def efficiency(self, strategy: Strategy) -> float:
        """Returns the predicted share of a step in which devices compute; numbers sent have 16 bits, no latency.

        By data messages go beside the backward pass, two thirds of computing. By layer devices wait for four sums of
        all tokens in each layer. By network they wait for the bubble and the first micro-batch's messages, or for all.
        Source: Narayanan et al., Efficient large-scale language model training on GPU clusters, 2021, section 3.
        """
        computing, k = self.computing, self.devices
        activations = 2 * self.tokens * self.width / self.rate
        if strategy is Strategy.DATA:
            step = computing + max(0.0, summed(2 * self.weights, k) / self.rate - 2 / 3 * computing)
        elif strategy is Strategy.LAYER:
            step = computing + 4 * self.layers * summed(activations, k)
        else:
            m = max(1, min(4 * k, self.tokens // SEQUENCE))
            step = max(computing / (1 - bubble(k, m)) + 2 * (k - 1) * activations / m, activations)
        return computing / step

    def best(self) -> Strategy | None:
        """Returns the strategy that fits and has the highest efficiency; None where none fits."""
        fitting: Sequence[Strategy] = [strategy for strategy in Strategy if self.fits(strategy)]
        return max(fitting, key=self.efficiency, default=None)


PLANS = (
    ("GPT, 85 M", "1 Gbit/s", Plan(12, 768, 2**19, 2, 125e6)),
    ("GPT, 85 M", "100 Gbit/s", Plan(12, 768, 2**19, 8, 12.5e9)),
    ("GPT, 1.2 B", "100 Gbit/s", Plan(24, 2048, 2**14, 8, 12.5e9)),
    ("GPT, 6.4 B", "100 Gbit/s", Plan(32, 4096, 2**19, 8, 12.5e9)),
    ("GPT, 6.4 B", "NVLink", Plan(32, 4096, 2**14, 8, 450e9)),
    ("GPT, 64 B", "NVLink", Plan(80, 8192, 2**19, 8, 450e9)),
)
"""Transformers to decide for: a name with the number of weights, a link, and the plan. NVLink carries 450 GB/s."""
