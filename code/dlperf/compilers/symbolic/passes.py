"""Passes: functions from a graph to a graph that computes the same, for less."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dlperf.compilers.symbolic.graph import Graph, Node, evaluate, renamed


def fold_constants(graph: Graph) -> Graph:
    """Returns the graph with each operation on literals done now."""
    known: dict[str, Any] = {}
    nodes = []
    for node in graph.nodes:
        node = replace(node, args=renamed(node.args, known))
        if node.uses:
            nodes.append(node)
        else:
            known[node.name] = evaluate(node, {})
    outputs = renamed(graph.outputs, known)
    return replace(graph, nodes=tuple(nodes), outputs=outputs)


def share_common_subexpressions(graph: Graph) -> Graph:
    """Returns the graph with no operation done twice on the same arguments.

    Outputs stay tensors of their own.
    """
    first: dict[str, str] = {}
    same: dict[str, str] = {}
    nodes = []
    for node in graph.nodes:
        node = replace(node, args=renamed(node.args, same))
        known = first.setdefault(node.expression, node.name)
        keep = node.name in graph.outputs
        same[node.name] = node.name if keep else known
        if same[node.name] == node.name:
            nodes.append(node)
    outputs = renamed(graph.outputs, same)
    return replace(graph, nodes=tuple(nodes), outputs=outputs)


def remove_dead_code(graph: Graph) -> Graph:
    """Returns the graph without the nodes that no output needs."""
    needed = set(graph.outputs)
    nodes = []
    for node in reversed(graph.nodes):
        if node.name in needed:
            needed.update(node.uses)
            nodes.append(node)
    return replace(graph, nodes=tuple(reversed(nodes)))


def free_buffers(graph: Graph) -> Graph:
    """Returns the graph with a ``del`` after the last use of each result.

    Inputs, constants and outputs are not ours to free.
    """
    kept = {node.name for node in graph.inputs}
    kept |= graph.constants.keys() | set(graph.outputs)
    nodes = []
    for node in reversed(graph.nodes):
        names = *node.uses, node.name
        if last := tuple(name for name in names if name not in kept):
            nodes.append(Node("", "del", last))
            kept.update(last)
        nodes.append(node)
    return replace(graph, nodes=tuple(reversed(nodes)))


def peak_bytes(graph: Graph) -> int:
    """Returns the most bytes that intermediates and outputs hold at one time; inputs and constants not counted."""
    live: dict[str, int] = {}
    peak = 0
    for node in graph.nodes:
        if node.op == "del":
            live = {name: size for name, size in live.items() if name not in node.args}
        else:
            live[node.name] = node.nbytes
        peak = max(peak, sum(live.values()))
    return peak
