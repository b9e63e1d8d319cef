"""Measure the overhead per operator in each phase of a training step, and predict a step's time with it.

Operators are called by modules, by autograd and by an optimizer. All of these take time, by which a prediction falls
short that knows only what an operator takes in a loop of its own.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from unittest.mock import patch

import torch
from torch import nn
from torch.profiler import record_function

from dlperf.device import is_gpu
from dlperf.measuring.coverage import Call, call
from dlperf.measuring.model import Machine
from dlperf.models import gpt, resnet, steps, text
from dlperf.models.cost import Operator, operators
from dlperf.timing import clock

Work = Callable[[Operator], float]
"""The seconds of an operator that are not asking."""
ALL = ""
"""The phase of what is in no phase; in what asking costs, a mean over all operators."""


@dataclass(frozen=True)
class Phased:
    """The operators of a step, and the seconds of each of its phases."""

    ops: Sequence[Operator]
    seconds: Mapping[str, float]


def phased(step: Callable[[], object], device: torch.device | str, calls: int = 20) -> Phased:
    """Returns the operators of ``step`` and the median seconds of its phases, after a call that is not counted.

    A phase is what the outermost `record_function` names. The clock waits for a GPU at both its ends.
    """
    step()
    ops = operators(step)
    found = defaultdict[str, list[float]](list)
    for _ in range(calls):
        for name, seconds in _phases(step, clock(device)).items():
            found[name].append(seconds)
    return Phased(ops, {name: median(each) for name, each in found.items()})


def _phases(step: Callable[[], object], now: Callable[[], float]) -> dict[str, float]:
    """Returns the seconds of the phases of one call."""
    found, open_since = defaultdict[str, float](float), list[float]()
    enter, leave = record_function.__enter__, record_function.__exit__

    def begin(phase: record_function) -> record_function:
        open_since.append(now() if not open_since else 0.0)
        return enter(phase)

    def end(phase: record_function, *why: object) -> None:
        leave(phase, *why)
        start = open_since.pop()
        if not open_since:
            found[phase.name] += now() - start

    with _replaced(begin, end):
        start = now()
        step()
        whole = now() - start
    return {**found, ALL: whole - sum(found.values())}


@contextmanager
def _replaced(begin: Callable[..., object], end: Callable[..., object]) -> Iterator[None]:
    with patch.object(record_function, "__enter__", begin), patch.object(record_function, "__exit__", end):
        yield


def at_the_roof(here: Machine) -> Work:
    """Returns what an operator takes at the roof of ``here``, where asking for it costs nothing."""
    return lambda op: max(op.flops / here.peak, op.bytes / here.bandwidth)


def as_alone(seconds: Mapping[Call, float]) -> Work:
    """Returns what an operator takes alone, by a loop of its own; 0 where it was not timed.

    That has the asking of a loop in it: what a step's costs beyond it is less than beyond the roof.
    """
    return lambda op: seconds.get(call(op), 0.0)


def per_operator(steps: Iterable[Phased], work: Work) -> dict[str, float]:
    """Returns the seconds that asking for one operator costs in each phase, and under `ALL` in all of them together.

    It is what the phases of small ``steps`` take beyond the ``work`` of their operators, divided by the number of
    these; never less than zero. Raises ValueError without an operator.
    """
    beyond, calls = defaultdict[str, float](float), defaultdict[str, int](int)
    for each in steps:
        for phase, seconds in each.seconds.items():
            beyond[phase] += seconds
        for op in each.ops:
            beyond[op.phase] -= work(op)
            calls[op.phase] += 1
    if not calls:
        raise ValueError("what asking costs is found from steps with operators, and these have none")
    found = {phase: max(0.0, beyond[phase] / n) for phase, n in calls.items() if phase != ALL}
    return {**found, ALL: max(0.0, sum(beyond.values()) / sum(calls.values()))}


def predict(ops: Iterable[Operator], work: Work, asking: Mapping[str, float], queued: bool = False) -> dict[str, float]:
    """Returns the predicted seconds of each phase of a step from the ``asking`` in a step and the ``work``.

    Each operator costs their sum; ``queued``, as on a GPU, the longer of the two. See `Machine.predict`.
    """
    phases = defaultdict[str, float](float)
    for op in ops:
        ask = asking.get(op.phase, asking[ALL])
        phases[op.phase] += max(ask, work(op)) if queued else ask + work(op)
    return dict(phases)


def tiny_steps(device: torch.device | str) -> dict[str, Callable[[], object]]:
    """Returns the book's two steps with the same operators and hardly any numbers, so that asking is what they cost."""
    size = gpt.Size(len(text.CHARACTERS), context=8, layers=4, heads=4, width=16)
    return {"ResNet-18": _tiny_resnet(device), "GPT": steps.gpt_step(device, 1, size)}


def _tiny_resnet(device: torch.device | str) -> steps.Step:
    torch.manual_seed(0)
    widths = [width // 16 for width in resnet.WIDTHS]
    before = (widths[0], *widths[:-1])
    blocks = [
        block
        for n, (ins, outs) in enumerate(zip(before, widths, strict=True))
        for block in (resnet.Block(ins, outs, 1 if n == 0 else 2), resnet.Block(outs, outs))
    ]
    head = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(widths[-1], 10)
    model = nn.Sequential(resnet.convolution(3, widths[0], 3), nn.ReLU(), *blocks, *head).to(device)
    images, classes = resnet.batch(1, device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return steps.Step(model, optimizer, images[..., :16, :16].contiguous(), classes)


def measured(here: Machine, device: torch.device | str, calls: int = 20) -> dict[str, float]:
    """Returns what asking costs in a step on ``device``, by `per_operator` from `tiny_steps`.

    Where a queue hides the smaller of asking and working, the tiny steps' time is all asking.
    """
    work = (lambda op: 0.0) if is_gpu(device) else at_the_roof(here)
    return per_operator([phased(step, device, calls) for step in tiny_steps(device).values()], work)
