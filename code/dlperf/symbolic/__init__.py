"""A symbolic compiler small enough to hold in one's head.

``dlperf.symbolic.tracing``   a Python function becomes a graph
``dlperf.symbolic.graph``     the graph; an interpreter; Python source
``dlperf.symbolic.passes``    graphs become graphs that do the same for less
``dlperf.symbolic.fusion``    operations that go element by element become C++ loops
``dlperf.symbolic.compiler``  all of it in a row, and guards

The chapter *Compilers and interpreters* tells its story.
"""

from dlperf.symbolic.compiler import Compiled, Program, compile, generate, guard, optimize
from dlperf.symbolic.fusion import cpp_source, fuse
from dlperf.symbolic.graph import Graph, Node, interpret, load
from dlperf.symbolic.passes import (
    fold_constants,
    free_buffers,
    live_bytes,
    peak_bytes,
    remove_dead_code,
    share_common_subexpressions,
)
from dlperf.symbolic.tracing import TraceError, trace

__all__ = [
    "Compiled",
    "Graph",
    "Node",
    "Program",
    "TraceError",
    "compile",
    "cpp_source",
    "fold_constants",
    "free_buffers",
    "fuse",
    "generate",
    "guard",
    "interpret",
    "live_bytes",
    "load",
    "optimize",
    "peak_bytes",
    "remove_dead_code",
    "share_common_subexpressions",
    "trace",
]
