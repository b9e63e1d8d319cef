"""Fusion: operations that go element by element become one C++ loop, which reads and writes each number once."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import torch
from torch.autograd.forward_ad import unpack_dual

from dlperf.compilers.symbolic.graph import OPERATIONS, Graph, Node
from dlperf.native import CompilerError, build

TYPES = {torch.float32: "float", torch.float64: "double"}

CPP = {op: cpp for op, (_, cpp) in OPERATIONS.items() if cpp}

PRELUDE = """\
#define __FAST_MATH__  // no more than this: the C library then offers functions of many numbers at once
#include <cmath>
"""

FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")
"""No fused multiply-add and no reordering: ``+ - * /`` round as PyTorch's do, bit for bit."""


def elementwise(graph: Graph) -> set[str]:
    """Returns the nodes that go element by element over operands of their own shape and floating type, and numbers."""
    kinds: dict[str, Any] = {name: (tensor.shape, tensor.dtype) for name, tensor in graph.constants.items()}
    kinds |= {node.name: (node.shape, node.dtype) for node in (*graph.inputs, *graph.nodes)}
    fits = lambda node, arg: kinds[arg] == kinds[node.name] if isinstance(arg, str) else math.isfinite(arg)
    known = [node for node in graph.nodes if node.op in CPP and node.dtype in TYPES]
    return {node.name for node in known if all(fits(node, arg) for arg in node.args)}


def fuse(graph: Graph) -> Graph:
    """Returns the graph with elementwise operations that lead to one result, and to nothing else, as one loop.

    From the last node to the first, a node whose only user is elementwise, or already a loop, joins it. Nothing
    but the result leaves a loop, so no path can leave it and come back.
    """
    fusable = elementwise(graph)
    nodes = list(graph.nodes)
    for node in reversed(graph.nodes):
        users = [user for user in nodes if node.name in user.uses]
        if node.name in fusable - set(graph.outputs) and len(users) == 1 and users[0].name in fusable:
            nodes[nodes.index(users[0])] = joined(node, users[0])
            nodes.remove(node)
    return replace(graph, nodes=tuple(nodes))


def joined(node: Node, user: Node) -> Node:
    """Returns two operations, of which ``user`` may be a loop already, as one loop over what they read from outside."""
    body = node, *(user.body or [user])
    inner = {node.name for node in body}
    operands = dict.fromkeys(arg for node in body for arg in node.uses if arg not in inner)
    return replace(user, op=f"loop_{user.name}", args=tuple(operands), body=body)


def cpp(loop: Node) -> str:
    """Returns a fused loop as a C++ function of the operands' addresses and the result's."""
    kind = TYPES[loop.dtype]
    parameters = ", ".join(f"const {kind}* __restrict in{i}" for i in range(len(loop.args)))
    names = {arg: f"in{i}[i]" for i, arg in enumerate(loop.args)}
    statements = "\n    ".join(f"const {kind} {node.name} = {value(node, kind, names)};" for node in loop.body)
    return f"""
extern "C" void {loop.op}(long n, int threads, {parameters}, {kind}* __restrict out) {{
  #pragma omp parallel for simd num_threads(threads) if (n >= 32768)
  for (long i = 0; i < n; ++i) {{
    {statements}
    out[i] = {loop.name};
  }}
}}
"""


def value(node: Node, kind: str, names: Mapping[str, str]) -> str:
    """Returns an operation as C++ writes it; numbers are rounded to ``kind`` once, as PyTorch rounds them."""
    args = [names.get(arg, arg) if isinstance(arg, str) else f"{kind}({+arg!r})" for arg in node.args]
    rounds_twice = node.op == "div" and not isinstance(node.args[0], str)  # PyTorch divides a number in two steps
    return ("1 / {1} * {0}" if rounds_twice else CPP[node.op]).format(*args)


def cpp_source(graph: Graph) -> str:
    """Returns all fused loops of a graph as C++; empty without one."""
    functions = [cpp(node) for node in graph.nodes if node.body]
    return PRELUDE + "".join(functions) if functions else ""


def link(graph: Graph) -> dict[str, Callable[..., torch.Tensor]]:
    """Returns the fused loops of a graph by name, compiled. Raises `CompilerError` without a C++ compiler."""
    source = cpp_source(graph)
    if not source:
        return {}
    try:
        file = build(source, *FLAGS, "-fopenmp")
    except CompilerError:  # one without OpenMP
        file = build(source, *FLAGS)
    library = ctypes.CDLL(str(file))
    return {node.op: caller(library[node.op], node) for node in graph.nodes if node.body}


def caller(function: Any, loop: Node) -> Callable[..., torch.Tensor]:
    """Returns a compiled loop as a function of tensors, which it checks, since C++ takes any address."""
    kind = loop.dtype, loop.shape

    def run(*operands: torch.Tensor) -> torch.Tensor:
        if other := [operand for operand in operands if (operand.dtype, operand.shape) != kind]:
            raise RuntimeError(f"a fused loop for {kind} was given {other[0].dtype, other[0].shape}: compile it anew")
        if any(map(differentiated, operands)):
            raise RuntimeError("a fused loop has no derivative: call it under torch.no_grad(), or with fused=False")
        if any(operand.device.type != "cpu" for operand in operands):
            raise RuntimeError("a fused loop runs on the CPU: move the tensors there, or compile with fused=False")
        operands = tuple(operand.contiguous().resolve_neg() for operand in operands)  # as their memory says
        out = torch.empty_like(operands[0])
        addresses = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (*operands, out)]
        function(ctypes.c_long(out.numel()), torch.get_num_threads(), *addresses)
        return out

    return run


def differentiated(tensor: torch.Tensor) -> bool:
    """Returns whether PyTorch would take a derivative through the tensor, backward or forward."""
    return (torch.is_grad_enabled() and tensor.requires_grad) or unpack_dual(tensor).tangent is not None
