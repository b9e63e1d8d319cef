"""When a script's processes do what, without a word about it in the script.

    torchrun --nproc-per-node 2 -m dlperf.concise.observe ddp.py --epochs 1

runs the script as ``python ddp.py --epochs 1`` would, and each process writes what its `Step` was to the folder that
`FOLDER` names. PyTorch's hooks mark forward pass and update, a wrapper the backward pass, and its profiler what
goes over the link: ``gloo:all_reduce`` and the like last from when a message is handed over until its sum is there.
"""

from __future__ import annotations

import json
import os
import runpy
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Any

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook
from torch.profiler import ProfilerActivity, profile, record_function, schedule

from dlperf.spans import Span

FOLDER, AFTER = "DLPERF_OBSERVE", "DLPERF_OBSERVE_AFTER"
"""The environment variables that name the folder, and the number of updates after which one step is observed."""
PARTS = "forward", "backward", "update"
BACKENDS = "gloo:", "nccl:"


@dataclass(frozen=True)
class Step:
    """Spans of one step of one process, in seconds of the system's clock: by part, and by kind of message."""

    rank: int
    parts: dict[str, list[Span]]
    messages: dict[str, list[Span]]


class Marks:
    """Marks the parts of each step for the profiler, by hooks that every module and optimizer of a process calls."""

    def __init__(self, stepped: Callable[[], None]) -> None:
        self.depth = 0
        self.stepped = stepped
        self._open: dict[str, AbstractContextManager[Any]] = {}

    def install(self) -> None:
        """Installs the hooks; there is no way back, since the process is the script's."""
        register_module_forward_pre_hook(self._enter_module)
        register_module_forward_hook(self._leave_module, always_call=True)
        register_optimizer_step_pre_hook(lambda *_: self._begin("update"))
        register_optimizer_step_post_hook(self._updated)
        backward = torch.Tensor.backward

        @wraps(backward)
        def marked(self: torch.Tensor, *args: Any, **options: Any) -> None:
            with record_function("backward"):
                backward(self, *args, **options)

        torch.Tensor.backward = marked  # type: ignore[method-assign]

    def _enter_module(self, *_: Any) -> None:
        if self.depth == 0:
            self._begin("forward")
        self.depth += 1

    def _leave_module(self, *_: Any) -> None:
        self.depth -= 1
        if self.depth == 0:
            self._end("forward")

    def _updated(self, *_: Any) -> None:
        self._end("update")
        self.stepped()

    def _begin(self, part: str) -> None:
        self._open[part] = record_function(part)
        self._open[part].__enter__()

    def _end(self, part: str) -> None:
        self._open.pop(part).__exit__(None, None, None)


def step_of(rank: int, events: list[tuple[str, float, float]]) -> Step:
    """Returns a step from profiled events: names, and their beginnings and ends in seconds."""
    spans: dict[str, list[Span]] = {}
    for name, begin, end in sorted(events, key=lambda event: event[1]):
        if name in PARTS or name.startswith(BACKENDS):
            spans.setdefault(name, []).append((begin, end))
    parts = {part: spans.pop(part, []) for part in PARTS}
    return Step(rank, parts, {name.partition(":")[2]: found for name, found in spans.items()})


def keep(folder: Path, profiled: profile) -> None:
    """Writes the step that was profiled to ``folder``, by the rank of this process."""
    rank = int(os.environ.get("RANK", 0))
    start = profiled.profiler.kineto_results.trace_start_ns() / 1e9  # of the clock that all processes share
    times = [(event.name, event.time_range) for event in profiled.events()]
    events = [(name, start + time.start / 1e6, start + time.end / 1e6) for name, time in times]
    (folder / f"{rank}.json").write_text(json.dumps(asdict(step_of(rank, events))), encoding="utf-8")


def read(folder: Path) -> list[Step]:
    """Returns the steps in a folder, in order of rank."""
    found = [Step(**json.loads(path.read_text(encoding="utf-8"))) for path in folder.glob("*.json")]
    return sorted(found, key=lambda step: step.rank)


def main() -> None:
    """Runs the script that the command line names, and observes one of its steps."""
    script, sys.argv = sys.argv[1], sys.argv[1:]
    activities = [ProfilerActivity.CPU, *[ProfilerActivity.CUDA] * torch.cuda.is_available()]
    when = schedule(wait=int(os.environ.get(AFTER, 8)), warmup=1, active=1, repeat=1)
    profiled = profile(activities=activities, schedule=when, on_trace_ready=partial(keep, Path(os.environ[FOLDER])))
    Marks(profiled.step).install()
    with profiled:
        runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
