"""The graph of a backward pass: autograd's own nodes, how long each took, and what each came after.

The chapter *Automatic parallelism* tells the story.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import torch

from dlperf.parallel.schedule import Graph, Task


def nodes(loss: torch.Tensor) -> list[Any]:
    """Returns all nodes of autograd's graph behind ``loss``, each once."""
    found: dict[Any, None] = {}
    todo: list[Any] = [loss.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in found:
            found[node] = None
            todo += [other for other, _ in node.next_functions]
    return list(found)


def clocked(loss: torch.Tensor) -> Graph:
    """Runs the backward pass; returns its nodes as tasks."""
    begin: dict[Any, float] = {}
    end: dict[Any, float] = {}
    number = {node: i for i, node in enumerate(nodes(loss))}
    after: dict[Any, list[int]] = {node: [] for node in number}
    for node, i in number.items():

        def begins(*_: Any, node: Any = node) -> None:
            begin[node] = perf_counter()

        def ends(*_: Any, node: Any = node) -> None:
            end[node] = perf_counter()

        node.register_prehook(begins)
        node.register_hook(ends)
        for other, _ in node.next_functions:
            if other is not None:
                after[other].append(i)
    loss.backward()
    tasks: Graph = {}
    for node, i in number.items():
        seconds = end[node] - begin[node]
        tasks[i] = Task(seconds, tuple(after[node]))
    return tasks
