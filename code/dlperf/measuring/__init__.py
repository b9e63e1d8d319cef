"""Experiments of the chapter *Measuring performance*, one module per subject.

``pitfalls``      the gallery of wrong benchmarks, each beside its right twin
``distribution``  samples as a distribution: intervals, and how often they are right
``model``         the performance model: arithmetic, traffic, the overhead of asking
``asking``        what asking for an operator costs in a step, and a step predicted with it
``coverage``      what such a prediction leaves out: without a formula, or not timed
``laws``          Amdahl, Gustafson and Little, with their experiments
``prediction``    a training step predicted from its operators, and the regime of each
``updates``       what the update of the weights costs besides its operators
``drawings``      what has no axes: three costs, a step, a clock read too early, two laws, a queue
"""
