"""Profile training steps with PyTorch, and convert events to intervals: phases, operators, kernels, messages."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from operator import itemgetter
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from dlperf import spans
from dlperf.device import has_cuda, is_gpu, synchronize
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.turns import interleave, middle, seconds

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else the profiler writes its own notes into the chapter's output

PHASES = ("data", "forward", "backward", "update")
"""The parts of a training step, in order; they are recorded under these names."""

STEP = "training step"
"""Under this name a whole step is recorded."""

LOADING = "enumerate(DataLoader)"
"""So begins the name under which a `DataLoader` records that somebody waits for its next batch."""


GENERATED = "cpp_fused_"
"""This is part of the name of each loop that Inductor writes for a CPU."""

_WAITS = re.compile(r"^(cuda|hip)\w*Synchronize$|^wait$")


@dataclass(frozen=True)
class Interval:
    """Something that happened: its ``name``, ``start`` and ``end`` in seconds from the step's start, and a ``lane``.

    ``lane`` is ``step``, ``phase`` (of the step), ``operator`` (the outermost call of one), ``kernel``: on a GPU what
    runs there, on a CPU the outermost operator that `computes`; ``message``, what is sent to other processes; or
    ``wait``, in which the host waits for a device.
    """

    name: str
    start: float
    end: float
    lane: str


def traces(
    step: Callable[[], object], device: torch.device | str, steps: int = 3, warm_up: int = 1
) -> list[list[Interval]]:
    """Returns what the profiler saw of each of ``steps`` calls of ``step``, in order.

    The first ``warm_up`` calls are left out: the profiler's own first step is slow. Each call is waited for, so that
    none runs into the next.
    """
    on_gpu = has_cuda(device)  # no other queue is seen by the profiler on every machine
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * on_gpu
    with profile(activities=activities) as recorded:
        for _ in range(warm_up + steps):
            with record_function(STEP):
                waited_for(step, device)()
    events = list(recorded.events())
    whole = sorted((e.time_range for e in events if e.name == STEP and _on_host(e)), key=lambda time: time.start)
    return [
        intervals([e for e in events if time.start <= e.time_range.start < time.end], on_gpu)
        for time in whole[warm_up:]
    ]


def waited_for(step: Callable[[], object], device: torch.device | str) -> Callable[[], object]:
    """Returns ``step``, after which the device is waited for."""

    def call() -> None:
        step()
        if is_gpu(device):
            synchronize(device)

    return call


def traced_and_plain(
    step: Callable[[], object], device: torch.device | str, rounds: int = 5
) -> tuple[Measurement, Measurement, list[list[Interval]]]:
    """Returns the seconds of a traced step and of one that nobody traces, in turn, and what the profiler saw of each.

    Each sample is one step, waited for, the second in a row of its kind.
    """
    return all_traced_and_plain({STEP: step}, device, rounds)[STEP]


def all_traced_and_plain(
    steps: Mapping[str, Callable[[], object]], device: torch.device | str, rounds: int = 5
) -> dict[str, tuple[Measurement, Measurement, list[list[Interval]]]]:
    """Returns for each of ``steps`` what `traced_and_plain` does, all of them in turn.

    Each is called once before, so that what happens only once, such as compiling, is in no profile.
    """

    def plain(step: Callable[[], object]) -> tuple[float, list[Interval]]:
        return [seconds(waited_for(step, device))() for _ in range(2)][-1], []

    def traced(step: Callable[[], object]) -> tuple[float, list[Interval]]:
        [seen] = traces(step, device, steps=1, warm_up=1)
        return length(seen), seen

    sides: dict[tuple[str, str], Callable[[], tuple[float, list[Interval]]]] = {}
    for name, step in steps.items():
        waited_for(step, device)()
        sides |= {(name, "traced"): partial(traced, step), (name, "plain"): partial(plain, step)}
    taken, env = interleave(sides, rounds, warm_up=0), environment(device)
    clocked = {key: side.measurement(itemgetter(0), "s", key[1], environment=env) for key, side in taken.items()}
    return {
        name: (clocked[name, "traced"], clocked[name, "plain"], [seen for _, seen in taken[name, "traced"]])
        for name in steps
    }


def length(parts: Sequence[Interval]) -> float:
    """Returns the seconds from the first beginning to the last end in ``parts``."""
    return spans.extent([(p.start, p.end) for p in parts])


def typical(steps: Sequence[list[Interval]]) -> list[Interval]:
    """Returns the step of median length; of an even number, the longer of the middle two."""
    return middle(steps, length)


def _on_host(event: Any) -> bool:
    return event.device_type == torch.autograd.DeviceType.CPU


def intervals(events: Iterable, on_gpu: bool = False) -> list[Interval]:
    """Returns profiler ``events`` as intervals on their lanes, in order of time; see `Interval`."""
    events = list(events)
    host = [e for e in events if _on_host(e)]
    lanes = [("step", e) for e in host if e.name == STEP]
    lanes += [("phase", e) for e in host if e.name in PHASES or e.name.startswith(LOADING)]
    lanes += [("operator", e) for e in _outermost(host, lambda name: name.startswith("aten::"))]
    lanes += [("wait", e) for e in host if _WAITS.search(e.name)]
    lanes += [("message", e) for e in host if e.name.startswith(("c10d::", "gloo:", "nccl:"))]
    if on_gpu:
        lanes += [("kernel", e) for e in events if not _on_host(e) and not e.is_user_annotation]
    else:
        lanes += [("kernel", e) for e in _outermost(host, computes)]
    zero = min((e.time_range.start for _, e in lanes), default=0)
    made = [
        Interval(
            PHASES[0] if e.name.startswith(LOADING) else e.name,
            (e.time_range.start - zero) * 1e-6,
            (e.time_range.end - zero) * 1e-6,
            lane,
        )
        for lane, e in lanes
    ]
    return sorted(made, key=lambda i: (i.start, -i.end))


@cache
def computes(name: str) -> bool:
    """Returns whether the operator ``name`` computes, as PyTorch's own tables tell.

    It does not if it only makes a view, only reserves memory, or only calls other operators. A loop that Inductor
    wrote for a CPU computes; it is seen where ``torch._inductor.config.cpp.enable_kernel_profile`` was set.
    """
    if GENERATED in name:
        return True
    packet = getattr(torch.ops.aten, name.removeprefix("aten::"), None) if name.startswith("aten::") else None
    if packet is None or name.startswith(("aten::empty", "aten::resize")):
        return False
    operator = getattr(packet, packet.overloads()[0])
    composite = torch._C._dispatch_has_kernel_for_dispatch_key(operator.name(), "CompositeImplicitAutograd")
    return not operator.is_view and not composite


def _outermost(events: Iterable, chosen: Callable[[str], bool]) -> list:
    """Returns the chosen events that are not inside another chosen one."""

    def inside(event: Any) -> bool:
        parent = event.cpu_parent
        return parent is not None and (chosen(parent.name) or inside(parent))

    return [e for e in events if chosen(e.name) and not inside(e)]
