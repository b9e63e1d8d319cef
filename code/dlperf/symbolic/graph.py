"""A program as a value: a list of nodes that a pass can rewrite, an interpreter run, and a generator print."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch

INFIX = {"add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "div": "{} / {}", "matmul": "{} @ {}", "neg": "-{}"}
"""Operations that Python writes with a sign; all others are functions of `torch` under their own names."""

NAMES = {"torch": torch, "inf": math.inf, "nan": math.nan}
"""What every generated program knows: `repr` writes infinity as ``inf``."""


@dataclass(frozen=True)
class Node:
    """One operation and its result, called ``name``.

    Of ``args`` a str is the name of another node, and anything else a literal. ``shape`` and ``dtype`` are
    the result's; for a plain number they are None and its type. ``allocates`` is in bytes, 0 for a view.
    ``body`` holds the nodes of a fused loop, the result last.
    """

    name: str
    op: str
    args: tuple[Any, ...] = ()
    shape: tuple[int, ...] | None = None
    dtype: Any = None
    allocates: int = 0
    body: tuple[Node, ...] = ()

    @property
    def uses(self) -> tuple[str, ...]:
        """The names of the nodes that this one reads, each once."""
        return tuple(dict.fromkeys(arg for arg in self.args if isinstance(arg, str)))

    def renamed(self, names: Mapping[str, Any]) -> Node:
        """Returns the node with what ``names`` says in place of the arguments that it names."""
        return replace(self, args=substitute(self.args, names))

    def __str__(self) -> str:
        if self.op == "del":
            return python(self)
        shape = list(self.shape) if self.shape is not None else ""
        kind = str(getattr(self.dtype, "__name__", self.dtype)).removeprefix("torch.")
        return f"{self.name}: {kind}{shape} = {self.op}({', '.join(map(str, self.args))})"


def substitute(args: Iterable[Any], names: Mapping[str, Any]) -> tuple[Any, ...]:
    """Returns ``args`` with each name that ``names`` knows replaced; literals stay."""
    return tuple(names.get(arg, arg) if isinstance(arg, str) else arg for arg in args)


@dataclass(frozen=True)
class Graph:
    """A program: ``inputs`` by name, ``nodes`` in an order in which each follows what it reads, ``outputs``.

    An output is a name or, like an argument, a literal. ``constants`` are tensors that the function had
    at hand besides its inputs, such as weights; they are kept, not copied.
    """

    inputs: tuple[Node, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Any, ...]
    constants: Mapping[str, torch.Tensor] = field(default_factory=dict, compare=False)

    def __str__(self) -> str:
        return "\n".join(map(str, (*self.inputs, *self.nodes)))

    def source(self, result: str = "return {}") -> str:
        """Returns the program as Python; ``result`` says what to do with the outputs, such as ``print({})``."""
        lines = [python(node) for node in self.nodes] + [result.format(", ".join(map(literal, self.outputs)))]
        inputs = ", ".join(node.name for node in self.inputs)
        return "\n    ".join((f"def program({inputs}):", *lines)) + "\n"


def literal(arg: Any) -> str:
    """Returns an argument as Python writes it: a name bare, a value by `repr`."""
    return arg if isinstance(arg, str) else repr(arg)


def expression(op: str, args: Iterable[str]) -> str:
    """Returns an operation as Python, such as ``x + 1`` or ``torch.relu(x)``."""
    return INFIX[op].format(*args) if op in INFIX else f"torch.{op}({', '.join(args)})"


def python(node: Node) -> str:
    """Returns the statement that computes a node."""
    args = list(map(literal, node.args))
    if node.op == "del":
        return f"del {', '.join(args)}"
    call = f"{node.op}({', '.join(args)})" if node.body else expression(node.op, args)
    return f"{node.name} = {call}"


@functools.cache
def function(op: str, count: int) -> Callable[..., Any]:
    """Returns the operation on ``count`` arguments as a function: what is printed is also what is evaluated."""
    names = [f"a{i}" for i in range(count)]
    return eval(f"lambda {', '.join(names)}: {expression(op, names)}", NAMES)


def apply(op: str, *args: Any) -> Any:
    """Returns what the operation makes of numbers, of tensors, or of tensors without data."""
    return function(op, len(args))(*args)


def interpret(graph: Graph, *inputs: Any) -> Any:
    """Returns the outputs by walking the graph node by node, as an interpreter does; a fused loop one by one, too."""
    given = {node.name: value for node, value in zip(graph.inputs, inputs, strict=True)}
    values = walk(graph.nodes, {**graph.constants, **given})
    outputs = substitute(graph.outputs, values)
    return outputs if len(outputs) > 1 else outputs[0]


def walk(nodes: Iterable[Node], values: dict[str, Any]) -> dict[str, Any]:
    """Returns ``values`` with those that the nodes compute, and without those that they free."""
    for node in nodes:
        if node.op == "del":
            for name in node.args:
                del values[name]
        elif node.body:
            values[node.name] = walk(node.body, dict(values))[node.name]
        else:
            values[node.name] = apply(node.op, *substitute(node.args, values))
    return values


def load(source: str, **names: Any) -> Callable[..., Any]:
    """Returns the function ``program`` of generated Python, to which ``names`` are known."""
    scope = {**NAMES, **names}
    exec(compile(source, "<program>", "exec"), scope)
    return scope["program"]
