"""The compiler: trace, rewrite, generate, load; and a guard that knows for which inputs that was done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from dlperf.symbolic.fusion import cpp_source, fuse, link
from dlperf.symbolic.graph import Graph, load
from dlperf.symbolic.passes import fold_constants, free_buffers, remove_dead_code, share_common_subexpressions
from dlperf.symbolic.tracing import trace


def optimize(graph: Graph, fused: bool = True) -> Graph:
    """Returns the graph after all passes, in the order in which each leaves most to the next."""
    for rewrite in (fold_constants, share_common_subexpressions, remove_dead_code):
        graph = rewrite(graph)
    return free_buffers(fuse(graph) if fused else graph)


@dataclass(frozen=True)
class Program:
    """A compiled graph: ``source`` is its Python, ``cpp`` its C++ (empty without fused loops), ``run`` calls it."""

    graph: Graph
    source: str
    cpp: str
    run: Callable[..., Any]


def generate(graph: Graph) -> Program:
    """Returns the program of a graph, generated and loaded, its fused loops compiled."""
    source = graph.source()
    return Program(graph, source, cpp_source(graph), load(source, **graph.constants, **link(graph)))


def guard(arg: Any) -> tuple[Any, ...]:
    """Returns what a program takes for granted of an argument: of a number its value, of a tensor all but its data."""
    return (arg.shape, arg.dtype, arg.device) if isinstance(arg, torch.Tensor) else (type(arg), arg)


class Compiled:
    """A function that is compiled anew for each kind of arguments it meets, and then remembers.

    ``programs`` has one program per kind. ``graph``, ``source`` and ``cpp`` are those of the last one used.
    """

    def __init__(self, fn: Callable[..., Any], fused: bool = True) -> None:
        self.fn, self.fused = fn, fused
        self.programs: dict[tuple[Any, ...], Program] = {}

    def program(self, *args: Any) -> Program:
        """Returns the program for arguments such as these, compiled at the first time."""
        key = tuple(map(guard, args))
        if key not in self.programs:
            self.programs[key] = generate(optimize(trace(self.fn, *args), self.fused))
        self._last = self.programs[key]
        return self._last

    def __call__(self, *args: Any) -> Any:
        return self.program(*args).run(*(arg for arg in args if isinstance(arg, torch.Tensor)))

    graph = property(lambda self: self._last.graph)
    source = property(lambda self: self._last.source)
    cpp = property(lambda self: self._last.cpp)


def compile(fn: Callable[..., Any], *example_args: Any, fused: bool = True) -> Compiled:
    """Returns ``fn`` compiled for tensors like ``example_args``, and, when it is called with others, for those too.

    Only shapes, dtypes, devices and plain numbers are guarded: a number that ``fn`` takes from elsewhere stays
    what it was. Raises `TraceError` for what cannot be traced, and `CompilerError` where fused loops are asked
    for and no C++ compiler is found. The chapter *Compilers and interpreters* tells the story.
    """
    compiled = Compiled(fn, fused)
    compiled.program(*example_args)
    return compiled
