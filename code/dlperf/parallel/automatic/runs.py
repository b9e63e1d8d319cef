"""The program run by PyTorch, line by line and compiled, and by the engine of this book."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.profiler import ProfilerActivity, _ExperimentalConfig, profile

from dlperf.environment import compiler
from dlperf.parallel.automatic.program import (
    STEPS,
    Seen,
    Span,
    alone_and_together,
    branch,
    branches,
    digest,
    numbers,
    scramble,
    sort,
)
from dlperf.spans import extent
from dlperf.turns import middle

Program = Callable[..., Any]

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else the profiler writes its own notes into the chapter's output


def in_pytorch(one: Program = branch, both: Program = branches, repeats: int = 15) -> Seen:
    """Returns what PyTorch does with one thread for each operator, given a branch and two of them: line by line."""
    inputs = numbers()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        measured = alone_and_together(lambda: one(inputs[0]), lambda: both(*inputs), repeats)
        with profiler() as recorded:
            results = both(*inputs)
    finally:
        torch.set_num_threads(threads)
    return Seen(**measured, trace=spans(recorded.events()), digests=[digest(result.numpy()) for result in results])


def compiled(repeats: int = 15) -> Seen | None:
    """Returns the same with both compiled by `torch.compile`; None where it cannot compile.

    Then there is no C++ compiler, or it does not find what it needs, such as Python's headers.
    """
    if compiler() is None:
        return None
    from torch._dynamo.exc import BackendCompilerFailed  # part of the compiler, which takes seconds to import

    named: dict[str, Any] = {"cpp.enable_kernel_profile": True}  # so that a trace shows generated loops, on Linux
    try:
        return in_pytorch(torch.compile(branch, options=named), torch.compile(branches, options=named), repeats)
    except BackendCompilerFailed:
        return None


def profiler() -> profile:
    """Returns a profiler of what runs on the CPU in any thread; otherwise it sees the thread that started it."""
    everyone = _ExperimentalConfig(profile_all_threads=True)
    return profile(activities=[ProfilerActivity.CPU], experimental_config=everyone)


def spans(events: Iterable[Any]) -> list[Span]:
    """Returns the outermost operators and compiled loops, coloured in their order: a branch ends with a sort."""

    def counts(event: Any) -> bool:
        return event.name.startswith("aten::") or "cpp_fused" in event.name

    def inside(event: Any) -> bool:
        return event is not None and (counts(event) or inside(event.cpu_parent))

    outer = sorted((e for e in events if counts(e) and not inside(e.cpu_parent)), key=lambda e: e.time_range.start)
    sorts, found = 0, []
    for e in outer:
        found.append(Span(e.name, str(e.thread), sorts // STEPS, e.time_range.start / 1e6, e.time_range.end / 1e6))
        sorts += e.name == "aten::sort"
    return found


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

    measured = alone_and_together(lambda: waited(inputs[:1]), lambda: waited(inputs), repeats)
    traces = []
    for _ in range(5):
        begin = len(engine.history)
        results = waited(inputs)
        traces.append([op for op in list(engine.history)[begin:] if op.device in places])
    ran = middle(traces, lambda ops: extent([(op.start, op.end) for op in ops]))
    trace = [Span(op.name, op.device, places.index(op.device), op.start, op.end) for op in ran]
    return Seen(**measured, trace=trace, digests=[digest(result.asnumpy()) for result in results])
