"""The link between ranks, measured by what they send on it: barrier, all-reduce by size, and a data-parallel step.

To sum ``S`` bytes over ``k`` ranks, each rank of a ring sends ``2 (k - 1) / k * S`` bytes over its link. A line is
fitted to the times by these bytes:

    seconds = alpha + beta * 2 (k - 1) / k * S

Here alpha is the fixed time of a whole all-reduce (of a ring's ``2 (k - 1)`` turns together), and 1 / beta the bytes
per second that a rank sends. The chapter *Training on multiple GPUs, from scratch* fits it, and
`dlperf.multigpu.probe` is its command for other machines.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from dlperf.alpha_beta import Line, fit
from dlperf.device import is_gpu
from dlperf.measurement import Measurement
from dlperf.models.steps import Step, images, resnet_step
from dlperf.multigpu.agreement import check_over_group, checksum
from dlperf.timing import clock

SMALLEST = 1024
"""Bytes of the smallest all-reduce; each further one is four times as large."""

SAMPLE_S = 0.05
"""Seconds that one sample takes at least: a call that is shorter is repeated."""

MOST_CALLS = 1000
"""The most calls that make one sample."""


@dataclass(frozen=True)
class Options:
    """What to measure: ``batch`` images a rank (0: what suits the device), all-reduces of up to ``largest`` bytes,
    ``samples`` of each time, and the cost of a gradient of so many bytes (0: the model's own).
    """

    batch: int = 0
    gradient: int = 0
    largest: int = 16 * 2**20
    samples: int = 9


@dataclass(frozen=True)
class Findings:
    """What the ranks have measured together: times in seconds, of each sample the slowest rank's.

    ``all_reduce`` is by the bytes of a message; ``local_step`` is ``step`` without the all-reduce of the gradient,
    which has ``gradient`` bytes.
    """

    world_size: int
    device: str
    backend: str
    batch: int
    gradient: int
    barrier: Measurement
    all_reduce: dict[int, Measurement]
    step: Measurement
    local_step: Measurement

    @property
    def line(self) -> Line:
        """The line through the median times, by the bytes that a rank sends; ValueError where none fits."""
        sent = [link_bytes(size, self.world_size) for size in self.all_reduce]
        return fit(sent, [each.median for each in self.all_reduce.values()])

    def predict(self, size: float) -> float:
        """Returns the predicted seconds of one all-reduce of ``size`` bytes."""
        return self.line(link_bytes(size, self.world_size))


def link_bytes(size: float, world_size: int) -> float:
    """Returns the bytes that each rank sends in a ring's all-reduce of ``size`` bytes.

    Source: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009.
    """
    return 2 * (world_size - 1) / world_size * size


def message_sizes(largest: int) -> list[int]:
    """Returns the bytes of the messages to time: 1 KiB, and four times as many each, up to ``largest``."""
    if largest < 4 * SMALLEST:
        raise ValueError(f"the largest message has at least {4 * SMALLEST} bytes, or no line can be fitted: {largest}")
    return [SMALLEST * 4**n for n in range(int(math.log(largest / SMALLEST, 4) + 1e-9) + 1)]


def data_parallel_step(rank: int, device: torch.device, batch: int) -> Step:
    """Returns a step of ResNet-18 under DistributedDataParallel, on images of noise that differ from rank to rank."""
    step = resnet_step(device, batch)
    model = DistributedDataParallel(step.model, device_ids=[device] if is_gpu(device) else None)
    noise = torch.randn(step.inputs.shape, generator=torch.Generator().manual_seed(rank))
    return replace(step, model=model, inputs=noise.to(device))


def train_once(step: Step) -> dict[str, object]:
    """Trains for one step; returns what must then be the same on all ranks: gradient and parameters."""
    parameters = list(step.model.parameters())
    F.cross_entropy(step.model(step.inputs), step.targets).backward()
    gradients = [p.grad for p in parameters if p.grad is not None]
    size, gradient = sum(g.nbytes for g in gradients), checksum(gradients)
    step.optimizer.step()
    step.optimizer.zero_grad()
    return {"bytes of the gradient": size, "gradient": gradient, "parameters": checksum(parameters)}


def slowest(values: Sequence[float], device: torch.device) -> list[float]:
    """Returns the largest of each value over all ranks."""
    largest = torch.tensor(values, dtype=torch.float64, device=device)
    dist.all_reduce(largest, dist.ReduceOp.MAX)
    return largest.tolist()


def time_together(
    functions: Mapping[str, Callable[[], object]], device: torch.device, samples: int
) -> dict[str, Measurement]:
    """Returns the seconds per call of functions that all ranks call together, in turn.

    The calls of a sample follow each other without a barrier between; of each sample the slowest rank's time counts.
    """
    now = clock(device)

    def seconds(fn: Callable[[], object], calls: int) -> float:
        dist.barrier()
        start = now()
        for _ in range(calls):
            fn()
        return (now() - start) / calls

    for fn in functions.values():
        fn()  # what happens only once
    once = slowest([seconds(fn, 1) for fn in functions.values()], device)
    calls = [min(MOST_CALLS, math.ceil(SAMPLE_S / s)) for s in once]  # the same on every rank
    turns = [[seconds(fn, n) for fn, n in zip(functions.values(), calls, strict=True)] for _ in range(samples)]
    columns = [slowest(column, device) for column in zip(*turns, strict=True)]
    return {
        name: Measurement(tuple(column), description=name, calls_per_sample=n)
        for name, column, n in zip(functions, columns, calls, strict=True)
    }


def measure(rank: int, world_size: int, options: Options) -> Findings:
    """Returns what all ranks of a process group measure together, the same on each.

    Raises ValueError where there is only one rank, and `Disagreement` on all ranks if gradients or parameters differ
    after a step. In the local steps that are timed, parameters then part.
    """
    if world_size < 2:
        raise ValueError(f"a link has two ends: start two or more ranks, got {world_size}")
    device = group_device()
    batch = options.batch or images(device)
    step = data_parallel_step(rank, device, batch)
    report = train_once(step)
    check_over_group(report)
    functions: dict[str, Callable[[], object]] = {"barrier": dist.barrier, "step": step, "local": local(step)}
    sizes = message_sizes(options.largest)
    for size in sizes:
        functions[str(size)] = all_reduce_of(size, device)
    taken = time_together(functions, device, options.samples)
    all_reduce = {size: taken[str(size)] for size in sizes}
    gradient = sum(p.nbytes for p in step.model.parameters() if p.requires_grad)
    about = world_size, device.type, dist.get_backend(), batch, gradient
    return Findings(*about, taken["barrier"], all_reduce, taken["step"], taken["local"])


def group_device() -> torch.device:
    """Returns the device from which this process sends: the CPU where gloo joins the group, else its current GPU."""
    if dist.get_backend() == "gloo":
        return torch.device("cpu")
    accelerator = torch.accelerator.current_accelerator()
    assert accelerator is not None
    return torch.device(accelerator.type, torch.accelerator.current_device_index())


def all_reduce_of(size: int, device: torch.device) -> Callable[[], object]:
    """Returns a function that sums ``size`` bytes of float32 over all ranks."""
    tensor = torch.zeros(size // 4, device=device)  # sums of zeros stay finite
    return lambda: dist.all_reduce(tensor)


def local(step: Step) -> Callable[[], object]:
    """Returns a step without the all-reduce of the gradient."""

    def run() -> Tensor:
        with step.model.no_sync():  # type: ignore[operator]
            return step()

    return run
