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

    ``programs`` has per kind a function, and the tensors that it has at hand with what it takes for granted of
    each: where that does not hold any more, it is compiled anew. ``graph``, ``source`` and ``cpp`` (empty without
    fused loops) are those of the last one that was compiled.
    """

    def __init__(self, fn: Callable[..., Any], fused: bool = True) -> None:
        self.fn, self.fused = fn, fused
        self.programs: dict[tuple[Any, ...], tuple[Callable[..., Any], list[Any]]] = {}

    def program(self, *args: Any) -> Callable[..., Any]:
        """Returns the program for arguments such as these, compiled at the first time."""
        key = torch._C._is_any_autocast_enabled(), *map(guard, args)  # which tracing refuses
        program, taken = self.programs.get(key, (None, []))
        if program is None or any(guard(tensor) != granted for tensor, granted in taken):
            self.graph = optimize(trace(self.fn, *args), self.fused)
            self.source, self.cpp = self.graph.source(), cpp_source(self.graph)
            taken = [(tensor, guard(tensor)) for tensor in self.graph.constants.values()]
            program = load(self.source, **self.graph.constants, **link(self.graph))
            self.programs[key] = program, taken
        return program

    def __call__(self, *args: Any) -> Any:
        return self.program(*args)(*(arg for arg in args if isinstance(arg, torch.Tensor)))


def compile(fn: Callable[..., Any], *example_args: Any, fused: bool = True) -> Compiled:
    """Returns ``fn`` compiled for tensors like ``example_args``, and, when it is called with others, for those too.

    Guarded are numbers among the arguments, and shape, dtype and device of tensors, arguments or at hand as weights
    are. What else ``fn`` takes from elsewhere stays what it was: the same number, the same tensor, with whatever
    values, even where a global name or an attribute has since been bound to another. Raises `TraceError` for what
    cannot be traced, and `CompilerError` where fused loops are asked for and no C++ compiler is found. The chapter
    *Compilers and interpreters* tells the story.
    """
    compiled = Compiled(fn, fused)
    compiled.program(*example_args)
    return compiled
