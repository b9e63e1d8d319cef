"""A small asynchronous engine in the manner of MXNet's: calls return at once, dependencies decide what runs when.

``dlperf.engine.scheduler``  operations, what they wait for, and the threads that run them
``dlperf.engine.arrays``     arrays whose operators are operations, and the calls that wait
``dlperf.engine.figures``    the record drawn: dependency graph, timeline, live bytes

Source: Chen et al., MXNet, 2015, section 3.2 (https://arxiv.org/abs/1512.01274). The chapter
*Asynchronous computation* tells its story.
"""

from dlperf.engine.arrays import Array, Engine
from dlperf.engine.figures import draw_graph, draw_memory, draw_timeline
from dlperf.engine.scheduler import Operation, Scheduler, Variable

__all__ = ["Array", "Engine", "Operation", "Scheduler", "Variable", "draw_graph", "draw_memory", "draw_timeline"]
