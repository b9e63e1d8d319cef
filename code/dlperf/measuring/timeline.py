"""Where a training step's time goes: PyTorch's profiler, read into intervals, shares and a figure."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from statistics import median
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile, record_function

from dlperf import spans
from dlperf.device import has_cuda
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.measuring.pitfalls import clock_calls
from dlperf.turns import interleave, middle

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else the profiler writes its own notes into the chapter's output

PHASES = ("forward", "backward", "update")
"""The parts of a training step, in order; they are recorded under these names."""


@dataclass(frozen=True)
class Interval:
    """Something that happened: its ``name``, ``start`` and ``end`` in seconds from the step's start, and a ``lane``.

    ``lane`` is ``phase`` (of the step), ``operator`` (the outermost call of one), or ``kernel``: on a
    GPU what runs there, on a CPU the outermost operator that `computes`.
    """

    name: str
    start: float
    end: float
    lane: str


def small_step(device: torch.device | str, batch: int = 64, width: int = 128) -> Callable[[], None]:
    """Returns a function that trains a three-layer perceptron for one step on one fixed mini-batch.

    Input ``(batch, 64)``, hidden layers of ``width``, ten classes, stochastic gradient descent.
    """
    torch.manual_seed(0)
    layers = [torch.nn.Linear(64, width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU()]
    net = torch.nn.Sequential(*layers, torch.nn.Linear(width, 10)).to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, foreach=False)  # one update for each tensor, on a GPU too
    x, y = torch.randn(batch, 64, device=device), torch.randint(10, (batch,), device=device)

    def step() -> None:
        with record_function("forward"):
            loss = torch.nn.functional.cross_entropy(net(x), y)
        with record_function("backward"):
            loss.backward()
        with record_function("update"):
            optimizer.step()
            optimizer.zero_grad()

    return step


def traces(
    step: Callable[[], None], device: torch.device | str, steps: int = 5, warm_up: int = 10
) -> tuple[list[float], list[list[Interval]]]:
    """Returns the seconds of each of ``steps`` calls of ``step``, and what the profiler saw of each, in order of time.

    The seconds are by `clock_calls`, as those of calls that nobody traces. The first ``warm_up`` calls are left out:
    the profiler's own first steps are slow. Each call is waited for, so none runs into the next. It must begin with a
    phase "forward".
    """
    on_gpu = has_cuda(device)  # no other queue is seen by the profiler on every machine
    activities = [ProfilerActivity.CPU] + [ProfilerActivity.CUDA] * on_gpu
    with profile(activities=activities) as recorded:
        times = clock_calls(step, warm_up + steps, device)
    events = list(recorded.events())
    begins = sorted(e.time_range.start for e in events if e.name == PHASES[0] and _on_host(e))
    ends = [*begins[1:], float("inf")]
    seen = [
        intervals([e for e in events if begin <= e.time_range.start < end], on_gpu)
        for begin, end in list(zip(begins, ends, strict=True))[warm_up:]
    ]
    return times[warm_up:], seen


def traced_and_plain(
    step: Callable[[], None], device: torch.device | str, rounds: int = 9
) -> tuple[Measurement, Measurement, list[list[Interval]]]:
    """Returns the seconds of a traced step and of one that nobody traces, in turn, and what the profiler saw of each.

    A sample is the median of five steps, each waited for, after ten that warm up.
    """

    def untraced() -> tuple[list[float], list[list[Interval]]]:
        return clock_calls(step, 15, device)[10:], []

    sides: dict[str, Callable[[], tuple[list[float], list[list[Interval]]]]] = {
        "traced": partial(traces, step, device),
        "plain": untraced,
    }
    taken = interleave(sides, rounds)
    env = environment(device)
    traced, plain = (
        side.measurement(lambda seen: median(seen[0]), "s", name, environment=env) for name, side in taken.items()
    )
    return traced, plain, [each for _, seen in taken["traced"] for each in seen]


def seconds(parts: Sequence[Interval]) -> float:
    """Returns the seconds from the first beginning to the last end in ``parts``."""
    return spans.extent([(p.start, p.end) for p in parts])


def typical(steps: Sequence[list[Interval]]) -> list[Interval]:
    """Returns the step of median length; of an even number, the longer of the middle two."""
    return middle(steps, seconds)


def _on_host(event: Any) -> bool:
    return event.device_type == torch.autograd.DeviceType.CPU


def intervals(events: Iterable, on_gpu: bool = False) -> list[Interval]:
    """Returns profiler ``events`` as intervals on the three lanes; see `Interval`."""
    events = list(events)
    host = [e for e in events if _on_host(e)]
    lanes = [("phase", e) for e in host if e.name in PHASES]
    lanes += [("operator", e) for e in _outermost(host, lambda name: name.startswith("aten::"))]
    if on_gpu:
        lanes += [("kernel", e) for e in events if not _on_host(e) and not e.is_user_annotation]
    else:
        lanes += [("kernel", e) for e in _outermost(host, computes)]
    zero = min((e.time_range.start for _, e in lanes), default=0)
    made = [Interval(e.name, (e.time_range.start - zero) * 1e-6, (e.time_range.end - zero) * 1e-6, n) for n, e in lanes]
    return sorted(made, key=lambda i: (i.start, -i.end))


@cache
def computes(name: str) -> bool:
    """Returns whether the operator ``name`` computes, as PyTorch's own tables tell.

    It does not if it only makes a view, only reserves memory, or only calls other operators.
    """
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


def covered(parts: Iterable[Interval]) -> float:
    """Returns the seconds during which at least one of ``parts`` was running: overlaps count once."""
    return spans.covered((p.start, p.end) for p in parts)


def shares(parts: Sequence[Interval]) -> dict[str, float]:
    """Returns which share of the traced time goes to ``kernel``, ``dispatch`` and ``gap``; they sum to 1.

    ``gap``: no operator was running, so Python and autograd were between two. ``dispatch``: inside an
    operator and outside a kernel. On a GPU both count only while no kernel runs: the rest is hidden.
    """
    lanes = {name: [p for p in parts if p.lane == name] for name in ("phase", "operator", "kernel")}
    whole = seconds(parts)
    kernel = covered(lanes["kernel"]) / whole
    busy = covered([*lanes["kernel"], *lanes["operator"]]) / whole
    return {"kernel": kernel, "dispatch": busy - kernel, "gap": 1 - busy}


def draw(axes: Any, parts: Sequence[Interval], colors: Sequence[str]) -> None:
    """Draws ``parts`` on matplotlib ``axes``: one lane above the other, time in µs."""
    for row, lane in enumerate(("kernel", "operator", "phase")):
        mine = [(p.start, p.end) for p in parts if p.lane == lane]
        spans.bar(axes, row, mine, colors[row], scale=1e6, facecolors=colors[row])
    for p in (p for p in parts if p.lane == "phase"):
        axes.text((p.start + p.end) / 2 * 1e6, 2, p.name, ha="center", va="center", color="white", fontsize=9)
    axes.set(xlabel="time (µs)", yticks=(0, 1, 2), yticklabels=("kernel", "operator", "phase"))
    axes.grid(visible=False, axis="y")
