"""The program run by PyTorch, line by line and compiled, and by the engine of this book."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Any

import torch
from torch.profiler import ProfilerActivity, _ExperimentalConfig, profile

from dlperf.automatic.program import STEPS, Seen, Span, branch, branches, digest, in_turn, numbers, scramble, sort

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else the profiler writes its own notes into the chapter's output


def in_pytorch(compiled: bool = False, repeats: int = 15) -> Seen:
    """Returns what PyTorch does with one thread for each operator: line by line, or compiled as one function."""
    inputs = numbers()
    one, both = (torch.compile(branch), torch.compile(branches)) if compiled else (branch, branches)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        measured = in_turn(lambda: one(inputs[0]), lambda: both(*inputs), repeats)
        everyone = _ExperimentalConfig(profile_all_threads=True)  # else it sees the one that started it
        with profile(activities=[ProfilerActivity.CPU], experimental_config=everyone) as recorded:
            results = both(*inputs)
    finally:
        torch.set_num_threads(threads)
    return Seen(*measured, _spans(recorded.events()), [digest(result.numpy()) for result in results])


def _spans(events: Iterable[Any]) -> list[Span]:
    """Returns the outermost operators; what began before the last sort of the first branch ended is of this branch."""

    def inside(event: Any) -> bool:
        return event is not None and (event.name.startswith("aten::") or inside(event.cpu_parent))

    outer = sorted(
        (e for e in events if e.name.startswith("aten::") and not inside(e.cpu_parent)),
        key=lambda e: e.time_range.start,
    )
    turn = [e for e in outer if e.name == "aten::sort"][STEPS - 1].time_range.end
    return [
        Span(e.name, str(e.thread), int(e.time_range.start >= turn), e.time_range.start / 1e6, e.time_range.end / 1e6)
        for e in outer
    ]


def generated() -> list[str]:
    """Returns the calls in the function that `torch.compile` generates for two branches, in their order.

    And the lines in which the memory of one value becomes another's.
    """
    from torch._inductor.utils import run_and_get_code  # part of the compiler, which takes seconds to import

    torch.compiler.reset()
    _, (source, *_) = run_and_get_code(torch.compile(branches), *numbers())
    body = source[source.rindex("def call(") :]
    return re.findall(r"^ +(cpp_fused.*|buf\d+ = (?:torch\.ops.*|buf\d+(?=; del)))", body, re.MULTILINE)


def in_engine(engine: Any, repeats: int = 15) -> Seen:
    """Returns what the engine of this book does, with a branch on its first device and one on its last."""
    places = engine.devices[0], engine.devices[-1]
    inputs = [engine.array(values, place) for values, place in zip(numbers(), places, strict=True)]

    def run(arrays: list[Any]) -> list[Any]:
        for _ in range(STEPS):
            arrays = [engine.call(sort, engine.call(scramble, x)) for x in arrays]
        return arrays

    def waited(arrays: list[Any]) -> list[Any]:
        results = run(arrays)
        engine.waitall()
        return results

    measured = in_turn(lambda: waited(inputs[:1]), lambda: waited(inputs), repeats)
    begin = len(engine.history)
    results = waited(inputs)
    ran = [op for op in list(engine.history)[begin:] if op.device in places]
    trace = [Span(op.name, op.device, places.index(op.device), op.start, op.end) for op in ran]
    return Seen(*measured, trace, [digest(result.asnumpy()) for result in results])
