"""Fusion: operations that go element by element become one C++ loop, which reads and writes each number once."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

from dlperf.native import CompilerError, build, cxx
from dlperf.symbolic.graph import INFIX, Graph, Node

CPP = {
    **{op: INFIX[op] for op in ("add", "sub", "mul", "div", "neg")},
    "reciprocal": "1 / {0}",
    "sqrt": "std::sqrt({0})",
    "exp": "std::exp({0})",
    "tanh": "std::tanh({0})",
    "sigmoid": "1 / (1 + std::exp(-{0}))",
    "relu": "{0} < 0 ? 0 : {0}",  # so written, NaN stays NaN, as in PyTorch
    "maximum": "{0} > {1} || {0} != {0} ? {0} : {1}",
    "minimum": "{0} < {1} || {0} != {0} ? {0} : {1}",
}
"""Operations that go element by element, as C++."""

TYPES = {torch.float32: "float", torch.float64: "double"}

UNBOUNDED = {"inf": "INFINITY", "-inf": "-INFINITY", "nan": "NAN"}

PRELUDE = """\
#include <cmath>
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
extern "C" {  // glibc has these for many numbers at once, and says so only under -ffast-math
__attribute__((simd("notinbranch"))) float expf(float) noexcept;
__attribute__((simd("notinbranch"))) double exp(double) noexcept;
#if __GLIBC_PREREQ(2, 35)
__attribute__((simd("notinbranch"))) float tanhf(float) noexcept;
__attribute__((simd("notinbranch"))) double tanh(double) noexcept;
#endif
}
#endif
"""

LOOP = """
extern "C" void {name}(long n, int threads, {parameters}, {type}* __restrict out) {{
  #pragma omp parallel for simd num_threads(threads) if (n >= 32768)
  for (long i = 0; i < n; ++i) {{
    {statements}
    out[i] = {result};
  }}
}}
"""

FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")
"""No fused multiply-add and no reordering: ``+ - * /`` round as PyTorch's do, bit for bit."""


def elementwise(node: Node, known: dict[str, Node]) -> bool:
    """Says whether a node goes element by element over operands of one shape and one floating type, and numbers."""
    like = all((known[name].shape, known[name].dtype) == (node.shape, node.dtype) for name in node.uses)
    return node.op in CPP and node.dtype in TYPES and like


def regions(graph: Graph) -> dict[str, list[Node]]:
    """Returns what can be fused: for each result, the nodes that lead to it and to nothing else.

    From the last node to the first, a node joins its users' region if they all are in the same one. Nothing
    but the result leaves a region, so no path can leave it and come back.
    """
    known = {node.name: node for node in (*graph.inputs, *graph.nodes)}
    known |= {name: Node(name, "", (), tuple(t.shape), t.dtype) for name, t in graph.constants.items()}
    homes: dict[Any, set[str]] = {output: {""} for output in graph.outputs}
    found: dict[str, list[Node]] = {}
    for node in reversed(graph.nodes):
        home = node.name
        if elementwise(node, known):
            used_in = homes.get(node.name, set())
            if len(used_in) == 1 and used_in <= found.keys():
                (home,) = used_in
            found.setdefault(home, []).insert(0, node)
        for name in node.uses:
            homes.setdefault(name, set()).add(home)
    return found


def fuse(graph: Graph) -> Graph:
    """Returns the graph with each region of two or more operations as one node, a loop over its operands."""
    loops = [(name, body) for name, body in regions(graph).items() if len(body) > 1]
    inner = {node.name for _, body in loops for node in body}
    fused = {name: _loop(f"loop{i}", body) for i, (name, body) in enumerate(reversed(loops))}
    nodes = (fused.get(node.name, node) for node in graph.nodes if node.name in fused or node.name not in inner)
    return replace(graph, nodes=tuple(nodes))


def _loop(op: str, body: list[Node]) -> Node:
    own = {node.name for node in body}
    operands = dict.fromkeys(name for node in body for name in node.uses if name not in own)
    return replace(body[-1], op=op, args=tuple(operands), body=tuple(body))


def loops(graph: Graph) -> list[Node]:
    """Returns the fused loops of a graph."""
    return [node for node in graph.nodes if node.body]


def cpp(loop: Node) -> str:
    """Returns a fused loop as a C++ function of the operands' addresses and the result's."""
    kind = TYPES[loop.dtype]
    names = {arg: f"in{i}[i]" for i, arg in enumerate(loop.args)}
    statements = []
    for i, node in enumerate(loop.body):
        args = (names[arg] if isinstance(arg, str) else number(arg, kind) for arg in node.args)
        statements.append(f"const {kind} t{i} = {CPP[node.op].format(*args)};")
        names[node.name] = f"t{i}"
    return LOOP.format(
        name=loop.op,
        type=kind,
        parameters=", ".join(f"const {kind}* __restrict in{i}" for i in range(len(loop.args))),
        statements="\n    ".join(statements),
        result=names[loop.name],
    )


def number(value: float, kind: str) -> str:
    """Returns a literal of C++, rounded to ``kind`` once, as PyTorch rounds it."""
    text = repr(float(value))
    return f"{kind}({UNBOUNDED.get(text, text)})"


def cpp_source(graph: Graph) -> str:
    """Returns all fused loops of a graph as C++; empty without one."""
    functions = [cpp(loop) for loop in loops(graph)]
    return PRELUDE + "".join(functions) if functions else ""


def link(graph: Graph) -> dict[str, Callable[..., torch.Tensor]]:
    """Returns the fused loops of a graph by name, compiled. Raises `CompilerError` without a C++ compiler."""
    if not loops(graph):
        return {}
    cxx()  # says what is missing before anything is tried
    try:
        file = build(cpp_source(graph), *FLAGS, "-fopenmp")
    except CompilerError:  # one without OpenMP
        file = build(cpp_source(graph), *FLAGS)
    library = ctypes.CDLL(str(file))
    return {loop.op: _caller(library[loop.op], loop) for loop in loops(graph)}


def _caller(function: Any, loop: Node) -> Callable[..., torch.Tensor]:
    function.argtypes = (ctypes.c_long, ctypes.c_int, *[ctypes.c_void_p] * (len(loop.args) + 1))
    function.restype = None

    def run(*operands: torch.Tensor) -> torch.Tensor:
        if torch.is_grad_enabled() and any(operand.requires_grad for operand in operands):
            raise RuntimeError("a fused loop has no derivative: call it under torch.no_grad(), or with fused=False")
        if any(operand.device.type != "cpu" for operand in operands):
            raise RuntimeError("a fused loop runs on the CPU: move the tensors there, or compile with fused=False")
        operands = tuple(operand.contiguous() for operand in operands)
        out = torch.empty(loop.shape or (), dtype=loop.dtype)
        addresses = [tensor.data_ptr() for tensor in (*operands, out)]
        function(out.numel(), torch.get_num_threads(), *addresses)
        return out

    return run
