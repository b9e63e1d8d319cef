"""Measure and predict strong and weak scaling, on available devices and with steps that wait instead of computing.

*Strong*: the batch stays, and each of k devices has a k-th of it. *Weak*: each device has a whole batch. The chapter
*Training on multiple GPUs, from scratch* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from time import perf_counter
from typing import Any

import torch
import torch.distributed as dist

from dlperf.alpha_beta import Line
from dlperf.device import is_gpu, synchronize, try_all_gpus
from dlperf.environment import cores, environment
from dlperf.measurement import Measurement
from dlperf.models import steps
from dlperf.multigpu import reduce_costs
from dlperf.multigpu.data_parallel import add_up, split_batch, train_batch
from dlperf.multigpu.declared import Declared, declared_seconds
from dlperf.multigpu.group import Crew, device_of, first, own_device
from dlperf.multigpu.tracing import StepTrace
from dlperf.parallel.gradients import messages
from dlperf.turns import columns, interleave, seconds


@cache
def _step(rank: int, size: int, batch: int) -> steps.Step:
    return steps.resnet_step(own_device(), batch)


def step_seconds(rank: int, size: int, k: int, batch: int, exchanging: bool = True) -> float:
    """Returns the seconds of a step of ResNet-18 that the first ``k`` devices share, of which this is one.

    All gradients are one message of PyTorch's own all-reduce; or nothing is exchanged.
    """
    group = first(k)
    own = _step(rank, size, batch)
    inputs, targets = split_batch(own.inputs, own.targets, rank, k)
    sum_up = partial(dist.all_reduce, group=group)
    exchange = partial(add_up, list(own.model.parameters()), sum_up) if k > 1 and exchanging else lambda: None
    dist.barrier(group=group)
    start = perf_counter()
    train_batch(own.model, own.optimizer, inputs, targets, batch, exchange)
    synchronize(inputs.device)
    return perf_counter() - start


def on_one_machine(crew: Crew, k: int, batch: int, repeats: int = 7) -> dict[str, Measurement]:
    """Returns how much of k devices of one machine a step of ResNet-18 uses: 1 is k times as fast as one device.

    ``strong`` and ``weak``; ``apart``, which is weak without an exchange; on a CPU also ``threads``, where one process
    has k threads and the whole batch. Each with its seconds as ``<name>-step``, and ``one-step``, those of one device
    with the batch.
    """
    sides: dict[str, Callable[[], float]] = {
        "one": partial(_longest, crew, 1, step_seconds, 1, batch),
        "strong": partial(_longest, crew, k, step_seconds, k, batch),
        "apart": partial(_longest, crew, k, step_seconds, k, k * batch, False),
        "weak": partial(_longest, crew, k, step_seconds, k, k * batch),
    }
    if crew.kind != "GPU":
        sides["threads"] = seconds(steps.resnet_step("cpu", batch))
    before = torch.get_num_threads()
    torch.set_num_threads(k)
    try:
        taken = interleave(sides, repeats)
    finally:
        torch.set_num_threads(before)
    device = device_of(0, k)
    where = environment(device if crew.kind == "GPU" else "cpu")
    found = {f"{name}-step": runs.measurement(float, "s", environment=where) for name, runs in taken.items()}
    for name in list(sides)[1:]:
        found[name] = found["one-step"] / found[f"{name}-step"] * (1 / k if name in ("strong", "threads") else 1.0)
    return found


def device_counts() -> tuple[int, ...]:
    """Returns the numbers of devices of this machine to try: two, four and eight, as far as it has so many GPUs, or,
    where it has not two, cores; one where there is but one core."""
    gpus = sum(map(is_gpu, try_all_gpus()))
    return tuple(k for k in (2, 4, 8) if k <= (gpus if gpus > 1 else cores())) or (1,)


def _longest(crew: Crew, k: int, fn: Callable[..., float], *args: Any) -> float:
    return max(crew.first(k).run(fn, *args))


def predict(step: Declared, k: int, link: Line) -> float:
    """Returns the seconds of k devices that send each message, around a ring, as soon as it is ready."""
    if k == 1:
        return step.forward + step.backward
    n = len(step.sizes)
    ready = [step.forward + step.backward * (i + 1) / n for i in range(n)]
    return messages(ready, [reduce_costs.seconds("ring", k, size, link) for size in step.sizes])[-1][1]


def declared(trace: StepTrace, buckets: int = 12) -> Declared:
    """Returns the step that waits as long as a traced one computes, and sends its gradients in equal buckets."""
    forward, backward = trace.forward_end - trace.begin, trace.backward_end - trace.forward_end
    return Declared(forward, backward, (sum(trace.gradient_bytes) // buckets,) * buckets)


def compare_declared(
    crew: Crew, step: Declared, link: Line, strong: Sequence[int], weak: Sequence[int], repeats: int = 5
) -> dict[str, Measurement]:
    """Returns the speedup in examples per second of k devices over one, and what was predicted, over measured.

    By ``strong-<k>`` and ``weak-<k>``, the latter with ``-ratio`` appended: of steps that take turns.
    """
    sides = {("strong", k): (step.share(k), k) for k in strong} | {("weak", k): (step, k) for k in weak}
    calls = {side: partial(_longest, crew, k, declared_seconds, each, k) for side, (each, k) in sides.items()}
    taken = interleave(calls, repeats, warm_up=0)
    rows = []
    for turn in range(len(next(iter(taken.values())))):
        row: dict[str, float] = {}
        for (name, k), (each, _) in sides.items():
            passed = taken[name, k][turn]
            times = (k if name == "weak" else 1) * predict(step, 1, link)
            row |= {f"{name}-{k}": times / passed, f"{name}-{k}-ratio": predict(each, k, link) / passed}
        rows.append(row)
    return columns(rows, dict.fromkeys(rows[0], "1"), environment("cpu"))


def bend(step: Declared, link: Line) -> float:
    """Returns the k for which k devices that share a batch compute backward as long as they send, latencies aside.

    Around a ring, each sends 2(k-1)/k of its gradients' bytes.
    """
    return 1 + step.backward / (2 * link.beta * sum(step.sizes))


def predicted_lines(step: Declared, link: Line, ks: Sequence[int]) -> dict[str, list[float]]:
    """Returns the predicted speedup for each number of devices, by ``strong`` and ``weak``."""
    return {name: [speedup(step, k, link, weak=name == "weak") for k in ks] for name in ("strong", "weak")}


def summary(found: Mapping[str, Measurement], step: Declared, link: Line) -> dict[str, float]:
    """Returns what `compare_declared` and the model say, in numbers without a unit.

    ``least`` and ``most`` of predicted over measured; ``added``, the step of two devices over what it would be if they
    sent when all is computed.
    """
    ratios = [each.median for name, each in found.items() if name.endswith("ratio")]
    overlapped = predict(step.share(2), 2, link) / added(step, 2, link)
    return {"least": min(ratios), "most": max(ratios), "added": overlapped}


def times(step: Declared, link: Line, k: int = 8) -> dict[str, float]:
    """Returns the seconds of the ``backward`` pass of a whole batch, and of ``sending`` its gradients among k."""
    sending = sum(reduce_costs.seconds("ring", k, size, link) for size in step.sizes)
    return {"backward": step.backward, "sending": sending}


def added(step: Declared, k: int, link: Line) -> float:
    """Returns the seconds of k devices that share a batch and send when all is computed."""
    share = step.share(k)
    return share.forward + share.backward + sum(reduce_costs.seconds("ring", k, size, link) for size in step.sizes)


def speedup(step: Declared, k: int, link: Line, *, weak: bool) -> float:
    """Returns the predicted examples per second of k devices, over those of one."""
    each = step if weak else step.share(k)
    return (k if weak else 1) * predict(step, 1, link) / predict(each, k, link)


LENET_BYTES = 4 * (20 * 9 + 20 + 50 * 20 * 25 + 50 + 800 * 128 + 128 + 128 * 10 + 10)
"""The bytes of the textbook's LeNet: two convolutions, 3 x 3 and 5 x 5, and two linear layers."""


def classic() -> dict[str, float]:
    """Returns what printed results of LeNet on two GPUs allow: 3.0 to 2.8 s an epoch, and 1.8 to 8.1 s elsewhere.

    ``least`` and ``most``: no number of GPUs could be more times as fast as one, had the exchange been free, by what
    3.0 and 2.8 can have been before they were rounded. ``steps`` an epoch, of 60,000 images in batches of 256.
    ``bytes`` of the gradients. ``message``: the seconds of each of 16 copies, if the copies explained all that was
    added. Source: Zhang et al., Dive into Deep Learning, section 13.5.
    """
    rounded, steps_ = 0.05, -(-60_000 // 256)
    limits = [one / (2 * two - one) for one, two in ((3.0 - rounded, 2.8 + rounded), (3.0 + rounded, 2.8 - rounded))]
    return {
        "least": limits[0],
        "most": limits[1],
        "steps": steps_,
        "bytes": float(LENET_BYTES),
        "message": (8.1 - 1.8) / steps_ / 16,
    }
