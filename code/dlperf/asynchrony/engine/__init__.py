"""A small asynchronous engine in the manner of MXNet's: calls return at once, dependencies decide what runs when.

``operations``  operations, and the rule that says which of them an operation has to follow
``scheduler``   the queue, and the threads that run it
``arrays``      arrays whose operators are operations, the calls that wait, and the memory of the values
``figures``     the record drawn: dependency graph, timeline, live bytes

Source: Chen et al., MXNet, 2015, section 3.2 (https://arxiv.org/abs/1512.01274). The chapter
*Asynchronous computation* tells its story.
"""

from dlperf.asynchrony.engine.arrays import Array, Engine
from dlperf.asynchrony.engine.figures import draw_graph, draw_memory, draw_timeline
from dlperf.asynchrony.engine.operations import Operation, Variable
from dlperf.asynchrony.engine.scheduler import Scheduler

__all__ = [
    "Array",
    "Engine",
    "Operation",
    "Scheduler",
    "Variable",
    "draw_graph",
    "draw_memory",
    "draw_timeline",
]
