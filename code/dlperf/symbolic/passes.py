"""Passes: functions from a graph to a graph that computes the same, for less."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from dlperf.symbolic.graph import Graph, Node, apply, substitute


def _rebuilt(graph: Graph, nodes: list[Node], names: dict[str, Any]) -> Graph:
    return replace(graph, nodes=tuple(nodes), outputs=substitute(graph.outputs, names))


def fold_constants(graph: Graph) -> Graph:
    """Returns the graph with each operation on literals done now, and its result in its place."""
    known: dict[str, Any] = {}
    nodes = []
    for node in graph.nodes:
        node = node.renamed(known)
        if node.uses:
            nodes.append(node)
        else:
            known[node.name] = apply(node.op, *node.args)
    return _rebuilt(graph, nodes, known)


def share_common_subexpressions(graph: Graph) -> Graph:
    """Returns the graph with each operation on the same arguments done once."""
    first: dict[tuple[str, str], str] = {}
    same: dict[str, str] = {}
    nodes = []
    for node in graph.nodes:
        node = node.renamed(same)
        key = node.op, repr(node.args)  # by repr, since 0.0 == -0.0 and 1 == 1.0 == True
        same[node.name] = first.setdefault(key, node.name)
        if same[node.name] == node.name:
            nodes.append(node)
    return _rebuilt(graph, nodes, same)


def remove_dead_code(graph: Graph) -> Graph:
    """Returns the graph without the nodes that no output needs."""
    needed = set(graph.outputs)
    nodes = []
    for node in reversed(graph.nodes):
        if node.name in needed:
            needed.update(node.uses)
            nodes.append(node)
    return _rebuilt(graph, nodes[::-1], {})


def free_buffers(graph: Graph) -> Graph:
    """Returns the graph with a ``del`` after the last use of each intermediate, so that its memory can serve again.

    Inputs, constants and outputs are not ours to free.
    """
    kept = {node.name for node in graph.inputs} | graph.constants.keys() | set(graph.outputs)
    nodes = []
    for node in reversed(graph.nodes):
        if last := tuple(name for name in (*node.uses, node.name) if name not in kept):
            nodes.append(Node("", "del", last))
            kept.update(last)
        nodes.append(node)
    return _rebuilt(graph, nodes[::-1], {})


def live_bytes(graph: Graph) -> Iterator[int]:
    """Yields the bytes that intermediates and outputs hold after each node; a view keeps what it looks at alive."""
    owners: dict[str, str] = {}
    sizes = {node.name: node.allocates for node in graph.nodes}
    for node in graph.nodes:
        if node.op == "del":
            for name in node.args:
                del owners[name]
        else:
            view = not node.allocates and bool(node.uses)
            owners[node.name] = owners.get(node.uses[0], "") if view else node.name
        yield sum(sizes.get(owner, 0) for owner in set(owners.values()))


def peak_bytes(graph: Graph) -> int:
    """Returns the most bytes that intermediates and outputs hold at one time; inputs and constants not counted."""
    return max(live_bytes(graph), default=0)
