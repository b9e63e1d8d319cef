"""What each way to split two layers costs a device, by formula: bytes sent, memory, seconds.

The chapter *Training on multiple GPUs, from scratch* tells the story.
"""

from __future__ import annotations

from collections.abc import Sequence

from dlperf.hardware.alpha_beta import Line
from dlperf.multigpu.pipeline import length, schedule
from dlperf.multigpu.splits import Sizes, Way
from dlperf.spans import Span


def added_up(values: float, devices: int) -> float:
    """Returns how many values each device sends in an all-reduce of so many, at least.

    Source: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009.
    """
    return 2 * (devices - 1) / devices * values


def sent(way: Way, sizes: Sizes, devices: int = 2) -> float:
    """Returns the bytes that a device sends in a step; by network, that one of two has a layer each."""
    n, d, h = sizes.n, sizes.d, sizes.h
    values = {
        Way.DATA: added_up(2 * d * h, devices),
        Way.LAYER: added_up(2 * n * d, devices),
        Way.NETWORK: n * h,
    }[way]
    return values * sizes.dtype.itemsize


def memory(way: Way, sizes: Sizes, devices: int = 2, micro_batches: int = 1) -> float:
    """Returns the bytes of tensors that a device has at the end of a step, when they are most.

    Weights and their gradients; of each row inputs and targets, what both layers return, and the gradients of that
    and of the inputs. By network of two devices a layer each, autograd holds one gradient of the weights more, before
    it is added to the sum of the earlier ones, and that of a micro-batch's output.
    """
    n, d, h, k = sizes.n, sizes.d, sizes.h, devices
    weights, rows = 2 * d * h, n * (4 * d + 2 * h)
    values = {
        Way.DATA: 2 * weights + rows / k,
        Way.LAYER: 2 * weights / k + n * (4 * d + 2 * h / k),
        Way.NETWORK: weights + (d * h if micro_batches > 1 else 0) + 2 * n * (d + h) + n * d / micro_batches,
    }[way]
    return values * sizes.dtype.itemsize


def all_reduce(line: Line, size: float, devices: int = 2) -> float:
    """Returns the seconds of an all-reduce of ``size`` bytes around a ring, where a message takes ``line``."""
    return 2 * (devices - 1) * line(size / devices)


def seconds(way: Way, sizes: Sizes, line: Line, alone: Sequence[tuple[float, float]], micro_batches: int = 1) -> float:
    """Returns the seconds of a step, from those that each device computes ``alone``, forward and back.

    Split by data or by layer, it is the slowest device's, and two all-reduces; by network a schedule with messages.
    """
    if way is Way.NETWORK:
        return length(lanes(sizes, line, alone, micro_batches))
    values = sizes.d * (sizes.h if way is Way.DATA else sizes.n)
    return max(map(sum, alone)) + 2 * all_reduce(line, sizes.dtype.itemsize * values, len(alone))


def lanes(sizes: Sizes, line: Line, alone: Sequence[tuple[float, float]], micro_batches: int = 1) -> list[list[Span]]:
    """Returns when each of two stages computes, from the seconds that it computes ``alone``, forward and back."""
    there, back = ([t / micro_batches for t in side] for side in zip(*alone, strict=True))
    message = line(sizes.dtype.itemsize * sizes.n * sizes.h / micro_batches)
    return schedule(there, back, micro_batches, message)
