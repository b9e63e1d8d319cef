"""Predict step time, bytes sent and memory of data-parallel and sharded training, from buckets and a link model.

The chapter *Training on multiple GPUs, concisely* holds it against what was seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from torch import nn

from dlperf.alpha_beta import Line
from dlperf.concise.ladder.one import network
from dlperf.concise.memory import Memory
from dlperf.concise.observe import Trace
from dlperf.multigpu import reduce_costs
from dlperf.parallel.gradients import messages

MIB = 2**20
FIRST, CAP = MIB, 25 * MIB
"""The bytes at which DDP sends its first bucket, and those after it: ``torch.distributed``'s defaults."""
FLOAT = 4
"""The bytes of a float32."""


def model(width: int, blocks: int = 4) -> nn.Sequential:
    """Returns the network of the ladder."""
    return network(width, blocks)


def gradients(network: nn.Module) -> list[int]:
    """Returns the bytes of each gradient, about in the order of the backward pass: the last layer's first."""
    return [weights.nbytes for weights in network.parameters()][::-1]


def fill_buckets(
    sizes: Sequence[int],
    first: float = FIRST,
    cap: float = CAP,
) -> list[int]:
    """Returns the bytes of the buckets that gradients fill in turn."""
    buckets, filled, limit = [], 0, first
    for size in sizes:
        filled += size
        if filled >= limit:
            buckets.append(filled)
            filled, limit = 0, cap
    return buckets + [filled] * (filled > 0)


def step(
    apart: Trace,
    buckets: Sequence[int],
    link: Line,
    k: int = 2,
    pieces: int = 1,
) -> float:
    """Returns the seconds of a step on k devices.

    `apart` is a device that has as many examples and sends nothing.
    Its backward pass makes gradients at an even rate; of several
    `pieces`, only the last one sends.
    """
    backward, update = apart.length("backward"), apart.length("update")
    start = pieces * (apart.step - update) - backward
    total = sum(buckets)
    full, sending = [], []
    for filled, size in zip(accumulate(buckets), buckets, strict=True):
        full.append(start + backward * filled / total)
        sending.append(reduce_costs.seconds("ring", k, size, link))
    last = messages(full, sending)[-1][1]
    return max(start + backward, last) + update


def sent(nbytes: float, k: int, passes: int = 2) -> float:
    """Returns the bytes that each of k devices sends.

    A pass is a reduce-scatter or an all-gather; an all-reduce is two.
    """
    return passes * (k - 1) / k * nbytes


def memory(network: nn.Module, activations: float, k: int = 1) -> Memory:
    """Returns the bytes of a step in float32 with Adam.

    With k > 1 all state is sharded, and the largest block is there
    as a whole, together with what belongs to no block.
    """
    state = FLOAT * sum(weights.numel() for weights in network.parameters())
    blocks = [sum(w.nbytes for w in part.parameters()) for part in network.children()]
    largest, outside = max(blocks), blocks[0] + blocks[-1]
    whole = largest + outside if k > 1 else 0
    return Memory(round(state / k + whole), round(state / k), round(2 * state / k), round(activations))
