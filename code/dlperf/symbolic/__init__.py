"""A symbolic compiler small enough to hold in one's head.

``dlperf.symbolic.tracing``   a Python function becomes a graph
``dlperf.symbolic.graph``     the graph; an interpreter; Python source
``dlperf.symbolic.passes``    graphs become graphs that do the same for less
``dlperf.symbolic.fusion``    operations that go element by element become C++ loops
``dlperf.symbolic.compiler``  all of it in a row, and guards

The chapter *Compilers and interpreters* tells its story.
"""

# ruff: noqa: F401  what is imported here is offered here

from dlperf.native import CompilerError
from dlperf.symbolic.compiler import Compiled, compile, optimize
from dlperf.symbolic.fusion import cpp_source, fuse
from dlperf.symbolic.graph import Graph, Node, interpret, load
from dlperf.symbolic.passes import (
    fold_constants,
    free_buffers,
    peak_bytes,
    remove_dead_code,
    share_common_subexpressions,
)
from dlperf.symbolic.tracing import TraceError, trace
