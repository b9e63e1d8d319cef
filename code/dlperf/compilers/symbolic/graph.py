"""A program as a value: a list of nodes that a pass can rewrite, an interpreter run, and a generator print."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F

OPERATIONS = {
    "add": ("{} + {}", "{} + {}"),
    "sub": ("{} - {}", "{} - {}"),
    "mul": ("{} * {}", "{} * {}"),
    "div": ("{} / {}", "{} / {}"),
    "neg": ("-{}", "-{}"),
    "sqrt": ("torch.sqrt", "std::sqrt({})"),
    "exp": ("torch.exp", "std::exp({})"),
    "tanh": ("torch.tanh", "std::tanh({})"),
    "sigmoid": ("torch.sigmoid", "1 / (1 + std::exp(-{}))"),
    "relu": ("torch.relu", "{0} < 0 ? 0 : {0}"),  # so written, NaN stays NaN, as in PyTorch
    "maximum": ("torch.maximum", "{0} > {1} || {0} != {0} ? {0} : {1}"),
    "minimum": ("torch.minimum", "{0} < {1} || {0} != {0} ? {0} : {1}"),
    "matmul": ("{} @ {}", ""),
    "sum": ("torch.sum", ""),
    "mean": ("torch.mean", ""),
    "linear": ("F.linear", ""),
}
"""All that can be traced, by PyTorch's names: as Python writes it and, if it goes element by element, as C++ does."""

NAMES = {"torch": torch, "F": F, "inf": math.inf, "nan": math.nan}
"""What every generated program knows; `repr` writes infinity as ``inf``."""


@dataclass(frozen=True)
class Node:
    """One operation and its result, called ``name``.

    Of ``args`` a str is the name of another node, and anything else a literal. ``shape`` and ``dtype`` are
    the result's; for a plain number they are None and its type. ``body`` holds the nodes of a fused loop,
    the result last.
    """

    name: str
    op: str
    args: tuple[Any, ...] = ()
    shape: tuple[int, ...] | None = None
    dtype: Any = None
    body: tuple[Node, ...] = ()

    @property
    def uses(self) -> tuple[str, ...]:
        """The names of the nodes that this one reads, each once."""
        return tuple(dict.fromkeys(arg for arg in self.args if isinstance(arg, str)))

    @property
    def nbytes(self) -> int:
        """The bytes of the result; none for a plain number."""
        return 0 if self.shape is None else math.prod(self.shape) * self.dtype.itemsize

    @property
    def expression(self) -> str:
        """The operation as Python writes it."""
        text, _ = OPERATIONS.get(self.op, (self.op, ""))
        args = [literal(arg) for arg in self.args]
        return text.format(*args) if "{}" in text else f"{text}({', '.join(args)})"

    @property
    def statement(self) -> str:
        """The line of Python that does the operation and names its result."""
        return f"del {', '.join(self.args)}" if self.op == "del" else f"{self.name} = {self.expression}"

    def __str__(self) -> str:
        if self.op == "del":
            return self.statement
        shape = "" if self.shape is None else list(self.shape)
        kind = str(getattr(self.dtype, "__name__", self.dtype)).removeprefix("torch.")
        return f"{self.name}: {kind}{shape} = {self.op}({', '.join(map(str, self.args))})"


def literal(arg: Any) -> str:
    """Returns an argument as Python writes it: a name bare, a value by `repr`."""
    return arg if isinstance(arg, str) else repr(arg)


def renamed(args: Iterable[Any], names: Mapping[str, Any]) -> tuple[Any, ...]:
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
        inputs = ", ".join(node.name for node in self.inputs)
        outputs = ", ".join(map(literal, self.outputs))
        lines = *(node.statement for node in self.nodes), result.format(outputs)
        return "\n    ".join((f"def program({inputs}):", *lines)) + "\n"


def evaluate(node: Node, values: Mapping[str, Any]) -> Any:
    """Returns what the operation makes of ``values``, by name: numbers, tensors, or tensors without data."""
    return eval(node.expression, {**NAMES, **values})


def interpret(graph: Graph, *inputs: Any) -> Any:
    """Returns the outputs by doing one line after the other, as an interpreter does; also those of a fused loop."""
    names = [node.name for node in graph.inputs]
    values = {**NAMES, **graph.constants, **dict(zip(names, inputs, strict=True))}
    for node in graph.nodes:
        for step in node.body or (node,):
            exec(step.statement, values)
    outputs = renamed(graph.outputs, values)
    return outputs if len(outputs) > 1 else outputs[0]


def load(source: str, **names: Any) -> Callable[..., Any]:
    """Returns the function ``program`` of generated Python, to which ``names`` are known."""
    scope = {**NAMES, **names}
    exec(source, scope)
    return scope["program"]
