"""One program of independent branches under several schedulers: who lets them run at the same time?

``program``   the program, and what is measured and traced of it
``runs``      PyTorch line by line and compiled, and the engine of this book
``xla``       XLA, in a process of its own, if JAX is installed

The chapter *Automatic parallelism* tells the story.
"""

from dlperf.parallel.automatic.program import Seen, Span, branch, branches, expected, overlapped, share
from dlperf.parallel.automatic.runs import compiled, in_engine, in_pytorch
from dlperf.parallel.automatic.xla import in_xla

__all__ = [
    "Seen",
    "Span",
    "branch",
    "branches",
    "compiled",
    "expected",
    "in_engine",
    "in_pytorch",
    "in_xla",
    "overlapped",
    "share",
]
