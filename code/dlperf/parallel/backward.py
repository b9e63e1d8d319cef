"""The graph of a backward pass: autograd's own nodes, how long each took, and what each came after.

The chapter *Automatic parallelism* tells the story.
"""

from __future__ import annotations

from time import perf_counter

import torch

from dlperf.parallel.schedule import Graph, Task


def nodes(loss: torch.Tensor) -> list[torch.autograd.graph.Node]:
    """Returns all nodes of the graph behind ``loss``, each once."""
    found, todo = {}, [loss.grad_fn]
    while todo:
        node = todo.pop()
        if node is not None and node not in found:
            found[node] = len(found)
            todo += [after for after, _ in node.next_functions]
    return list(found)


def clocked(loss: torch.Tensor) -> Graph:
    """Runs the backward pass; returns its nodes as tasks."""
    found, begun, seconds = nodes(loss), {}, {}

    def watch(node):
        def begin(*_):
            begun[node] = perf_counter()

        def end(*_):
            seconds[node] = perf_counter() - begun[node]

        node.register_prehook(begin)
        node.register_hook(end)

    for node in found:
        watch(node)
    loss.backward()
    number = {node: i for i, node in enumerate(found)}
    after = {node: [] for node in found}
    for node in found:
        for other, _ in node.next_functions:
            if other is not None:
                after[other].append(number[node])
    return {
        number[node]: Task(seconds[node], tuple(after[node]))
        for node in found
    }
