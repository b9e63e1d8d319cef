"""Run an unmodified training script and trace each process: phases and messages of a step, bytes sent, and memory.

    torchrun --nproc-per-node 2 -m dlperf.concise.observe ddp.py --epochs 1

runs the script as ``python ddp.py --epochs 1`` would, and each process writes a `Trace` to the folder that `FOLDER`
names. PyTorch's hooks mark forward pass and update, a wrapper the backward pass, and its profiler what goes over the
link in one step: ``gloo:all_reduce`` and the like last from when a message is handed over until its sum is there.
Seconds and bytes are those of steps without a profiler; memory is looked at in a step of its own.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from functools import wraps
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim import Optimizer
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.profiler import ProfilerActivity, profile, record_function, schedule

from dlperf.concise.memory import Memory, Watch
from dlperf.multigpu import traffic
from dlperf.spans import Span

FOLDER, ON_HOST = "DLPERF_OBSERVE", "DLPERF_OBSERVE_ON_HOST"
"""The environment variables that name the folder, and say that this is a host of a network, which counts bytes."""
WARM, COUNTED, PROFILED, WATCHED, STEPS = 2, 12, 13, 15, 16
"""Updates after which steps count, and no longer do, for the profiler wakes up; after which one is profiled and one is
watched; and the fewest of a script."""
PARTS = "forward", "backward", "update"
BACKENDS = "gloo:", "nccl:"


@dataclass(frozen=True)
class Trace:
    """What a process did: spans of one step, in seconds of the system's clock, by part and by kind of message;
    ``seconds`` of the steps before it; ``sent``, the bytes that left its host in one of these; and its memory."""

    rank: int
    parts: dict[str, list[Span]]
    messages: dict[str, list[Span]]
    seconds: list[float] = field(default_factory=list)
    sent: float | None = None
    memory: Memory = field(default_factory=Memory)

    @property
    def step(self) -> float:
        """The median seconds of a step, from one update's end to the next's."""
        return median(self.seconds)

    def length(self, part: str) -> float:
        """Returns the seconds of a part of the profiled step."""
        return sum(end - begin for begin, end in self.parts[part])


class Observer:
    """Follows the steps of a process, by hooks that every module and optimizer in it calls."""

    def __init__(self, profiled: profile) -> None:
        self.profiled = profiled
        self.moments: list[float] = []
        self.bytes: list[int] = []
        self.watch = Watch()
        self.depth = 0
        self.goes_back = False
        """Whether the backward pass is under way: a forward pass in it computes again what was not kept."""
        self._open: dict[str, AbstractContextManager[Any]] = {}

    @property
    def watches(self) -> bool:
        """Whether the memory of the step that is under way is looked at."""
        return len(self.moments) == WATCHED

    def install(self) -> None:
        """Installs the hooks; there is no way back, since the process is the script's."""
        register_module_forward_pre_hook(self._enter_module)
        register_module_forward_hook(self._leave_module, always_call=True)
        register_optimizer_step_pre_hook(self._before_update)
        register_optimizer_step_post_hook(self._after_update)
        backward, observer = torch.Tensor.backward, self

        @wraps(backward)
        def marked(self: torch.Tensor, *args: Any, **options: Any) -> None:
            observer.goes_back = True
            with record_function("backward"):
                backward(self, *args, **options)
            observer.goes_back = False

        torch.Tensor.backward = marked  # type: ignore[method-assign]

    def trace(self) -> Trace:
        """Returns what was seen. Raises RuntimeError where the script took too few steps for that."""
        if len(self.moments) < STEPS:
            raise RuntimeError(
                f"a script takes at least {STEPS} steps to be observed, this one took {len(self.moments)}"
            )
        start = self.profiled.profiler.kineto_results.trace_start_ns() / 1e9  # type: ignore[union-attr]
        times = [(event.name, event.time_range) for event in self.profiled.events()]
        parts, messages = spans_of([(name, start + t.start / 1e6, start + t.end / 1e6) for name, t in times])
        counted = self.moments[WARM - 1 : COUNTED]
        seconds = [end - begin for begin, end in pairwise(counted)]
        sent = (self.bytes[1] - self.bytes[0]) / len(seconds) if self.bytes else None
        return Trace(int(os.environ.get("RANK", 0)), parts, messages, seconds, sent, self.watch.most)

    def _enter_module(self, module: nn.Module, *_: Any) -> None:
        if self.depth == 0:
            self._begin("forward")
            if self.watches:
                self.watch.enter(module, again=self.goes_back)
        elif self.watches:
            self.watch.look()
        self.depth += 1

    def _leave_module(self, *_: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            if self.watches:
                self.watch.leave()
            self._end("forward")
        elif self.watches:
            self.watch.look()

    def _before_update(self, *_: Any) -> None:
        if self.watches:
            self.watch.look()
        self._begin("update")

    def _after_update(self, optimizer: Optimizer, *_: Any) -> None:
        self._end("update")
        if self.watches:
            self.watch.look_at(optimizer)
        self.moments.append(perf_counter())
        if len(self.moments) in (WARM, COUNTED):
            self.bytes += bytes_sent()
        if len(self.moments) == WARM:
            self.moments[-1] = perf_counter()  # asking for bytes takes longer than a step
        self.profiled.step()

    def _begin(self, part: str) -> None:
        self._open[part] = record_function(part)
        self._open[part].__enter__()

    def _end(self, part: str) -> None:
        self._open.pop(part).__exit__(None, None, None)


def bytes_sent() -> list[int]:
    """Returns what has left this host so far, in a list that is empty where this is none."""
    return [traffic.sent()] if os.environ.get(ON_HOST) else []


def spans_of(events: list[tuple[str, float, float]]) -> tuple[dict[str, list[Span]], dict[str, list[Span]]]:
    """Returns parts and messages of profiled events: names, and their beginnings and ends in seconds."""
    spans: dict[str, list[Span]] = {}
    for name, begin, end in sorted(events, key=lambda event: event[1]):
        if name in PARTS or name.startswith(BACKENDS):
            spans.setdefault(name, []).append((begin, end))
    parts = {part: spans.pop(part, []) for part in PARTS}
    return parts, {name.partition(":")[2]: found for name, found in spans.items()}


def read(folder: Path) -> list[Trace]:
    """Returns the traces in a folder, in order of rank."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
    traces = [Trace(**{**each, "memory": Memory(**each["memory"])}) for each in found]
    return sorted(traces, key=lambda trace: trace.rank)


def main() -> None:
    """Runs the script that the command line names, and observes its steps."""
    script, sys.argv = sys.argv[1], sys.argv[1:]
    activities = [ProfilerActivity.CPU, *[ProfilerActivity.CUDA] * torch.cuda.is_available()]
    when = schedule(wait=PROFILED - 1, warmup=1, active=1, repeat=1)
    with profile(activities=activities, schedule=when) as profiled:
        observer = Observer(profiled)
        observer.install()
        runpy.run_path(script, run_name="__main__")
    trace = observer.trace()
    path = Path(os.environ[FOLDER], f"{trace.rank}.json")
    path.write_text(json.dumps(asdict(trace)), encoding="utf-8")


if __name__ == "__main__":
    main()
