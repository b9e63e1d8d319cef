"""The compiler: trace, rewrite, generate, load; and guards, which know for which inputs that was done."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from dlperf.compilers.symbolic.fusion import cpp_source, fuse, link
from dlperf.compilers.symbolic.graph import Graph, load
from dlperf.compilers.symbolic.passes import fold_constants, free_buffers, remove_dead_code, share_common_subexpressions
from dlperf.compilers.symbolic.tracing import trace


def optimize(graph: Graph, fused: bool = True) -> Graph:
    """Returns the graph after all passes, in the order in which each leaves most to the next."""
    for rewrite in (fold_constants, share_common_subexpressions, remove_dead_code):
        graph = rewrite(graph)
    return free_buffers(fuse(graph) if fused else graph)


def guard(arg: Any) -> Any:
    """Returns what a program takes for granted of an argument: of a number its value, of a tensor all but its data."""
    return (arg.shape, arg.dtype, arg.device) if isinstance(arg, torch.Tensor) else repr(arg)


class Compiled:
    """A function that is compiled anew for each kind of arguments that it meets, and then remembers.

    ``programs`` has one function per kind. ``graph``, ``source`` and ``cpp`` (empty without fused loops) are those
    of the last one that was compiled.
    """

    def __init__(self, fn: Callable[..., Any], fused: bool = True) -> None:
        self.fn, self.fused = fn, fused
        self.programs: dict[tuple[Any, ...], Callable[..., Any]] = {}

    def program(self, *args: Any) -> Callable[..., Any]:
        """Returns the program for arguments such as these, compiled at the first time."""
        key = tuple(map(guard, args))
        if key not in self.programs:
            self.graph = optimize(trace(self.fn, *args), self.fused)
            self.source, self.cpp = self.graph.source(), cpp_source(self.graph)
            self.programs[key] = load(self.source, **self.graph.constants, **link(self.graph))
        return self.programs[key]

    def __call__(self, *args: Any) -> Any:
        return self.program(*args)(*(arg for arg in args if isinstance(arg, torch.Tensor)))


def compile(fn: Callable[..., Any], *example_args: Any, fused: bool = True) -> Compiled:
    """Returns ``fn`` compiled for tensors like ``example_args``, and, when it is called with others, for those too.

    Only shapes, dtypes, devices and plain numbers are guarded: a number that ``fn`` takes from elsewhere stays
    what it was. Raises `TraceError` for what cannot be traced, and `CompilerError` where fused loops are asked
    for and no C++ compiler is found. The chapter *Compilers and interpreters* tells the story.
    """
    compiled = Compiled(fn, fused)
    compiled.program(*example_args)
    return compiled
