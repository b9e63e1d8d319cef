"""A symbolic compiler small enough to hold in one's head.

``tracing``   a Python function becomes a graph
``graph``     the graph; an interpreter; Python source
``passes``    graphs become graphs that do the same for less
``fusion``    operations that go element by element become C++ loops
``compiler``  all of it in a row, and guards

The chapter *Compilers and interpreters* tells its story.
"""

# ruff: noqa: F401  what is imported here is offered here

from dlperf.compilers.symbolic.compiler import Compiled, compile, optimize
from dlperf.compilers.symbolic.fusion import cpp_source, fuse
from dlperf.compilers.symbolic.graph import Graph, Node, interpret, load
from dlperf.compilers.symbolic.passes import (
    fold_constants,
    free_buffers,
    peak_bytes,
    remove_dead_code,
    share_common_subexpressions,
)
from dlperf.compilers.symbolic.tracing import TraceError, trace
from dlperf.native import CompilerError
