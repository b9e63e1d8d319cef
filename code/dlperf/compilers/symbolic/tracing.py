"""Tracing: a function runs once on proxies, which have shapes but no values, and writes down what it does."""

from __future__ import annotations

import inspect
import os
import re
import traceback
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from dlperf.compilers.symbolic.graph import NAMES, OPERATIONS, Graph, Node, evaluate

PASSED_OVER = (os.path.dirname(__file__) + os.sep, os.path.dirname(torch.__file__) + os.sep)
"""Code of ours and of PyTorch's, which is not what the user wrote."""

TAKEN = re.compile(rf"[tc]\d+|loop_.*|{'|'.join(NAMES)}")
"""What no input may be called, since nodes, constants and loops are, and what every program knows."""

SHAPES = {"shape", "dtype", "ndim", "dim", "size", "numel", "__len__"}
"""What can be asked while tracing, since it depends on no value."""

REFLECTED = {"__rsub__": "sub", "__rdiv__": "div", "__rmatmul__": "matmul"}
"""What PyTorch calls an operator that has a number on its left."""

KEYWORDS = ("bias", "dim", "keepdim")
"""Arguments that may be given by name, in the order in which they stand."""

REASONS = {
    "item|tolist|numpy|__(array|int|float|index)__": "asks for a value, and while tracing there are only shapes;"
    " return the tensor, and look at it outside",
    "__(bool|contains|eq)__|eq|ne|lt|le|gt|ge": "decides by a value, and while tracing there are only shapes;"
    " decide outside, or element by element: torch.maximum",
    "__getitem__|unbind": "takes a tensor apart, which is not traced;"
    " use operations on whole tensors, or take it apart outside",
    "__set(item)?__|.*[^_]_": "changes a tensor in place, and others may see it;"
    " write x = x + y, not x += y or x.add_(y)",
    ".*": f"is not among what is traced: {', '.join(OPERATIONS)}",
}
"""Why a function of PyTorch's is refused, by its name, and what would be right; the first that fits."""


class TraceError(Exception):
    """What the function does cannot be traced. ``filename``, ``lineno`` and ``line`` are the user's, not ours."""

    def __init__(self, reason: str) -> None:
        stack = reversed(traceback.extract_stack())
        frame = next(frame for frame in stack if not frame.filename.startswith(PASSED_OVER))
        self.reason, self.filename, self.lineno, self.line = reason, frame.filename, frame.lineno, frame.line
        super().__init__(f"{os.path.basename(frame.filename)}:{frame.lineno}: {frame.line}\n{reason}")


class Proxy(torch.Tensor):
    """Stands for a tensor or number while a function is traced; ``arg`` is its name, or the number."""

    arg: Any
    __format__ = object.__format__

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"<{self.arg}>"


def proxy(arg: Any, example: Any) -> Proxy:
    """Returns the proxy of what looks like ``example``: a tensor without data, or a number."""
    result = torch.as_tensor(example, device="meta").as_subclass(Proxy)
    result.arg = arg
    return result


class Tracer(TorchFunctionMode):
    """Writes down what a function does to proxies: ``nodes``, and as ``constants`` the tensors that it has at hand.

    ``examples`` has by name what stands for a value: a tensor without data, or a number.
    """

    def __init__(self) -> None:
        super().__init__()
        self.nodes: list[Node] = []
        self.constants: dict[str, torch.Tensor] = {}
        self.examples: dict[str, Any] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called by PyTorch in place of each of its functions, methods and operators; returns what these would."""
        name = func.__self__.__name__ if func.__name__ == "__get__" else func.__name__
        options = dict(kwargs or {})
        if Proxy not in types or name in SHAPES:
            return func(*args, **options)  # not ours: it happens now
        if options.pop("inplace", False):  # relu(x, inplace=True) is relu_(x)
            name += "_"
        op = REFLECTED.get(name, name)
        if op not in OPERATIONS:
            raise TraceError(next(f"{name} {why}" for names, why in REASONS.items() if re.fullmatch(names, name)))
        named = [options.pop(key) for key in KEYWORDS if key in options]
        if options:
            raise TraceError(f"{name} is known without {', '.join(options)}; write it with operators")
        return self.record(op, *(args if op == name else args[::-1]), *named)

    def record(self, op: str, *operands: Any) -> Proxy:
        """Adds a node, evaluated on shapes alone, and returns the proxy of its result."""
        node = Node(f"t{len(self.nodes)}", op, tuple(map(self.lift, operands)))
        try:
            return self.add(node, evaluate(node, self.examples))
        except Exception as error:
            raise TraceError(f"{op} is impossible here: {error}") from error

    def add(self, node: Node, example: Any) -> Proxy:
        """Adds a node whose result looks like ``example``, and returns the proxy of that."""
        shape, dtype = getattr(example, "shape", None), getattr(example, "dtype", type(example))
        self.nodes.append(Node(node.name, node.op, node.args, shape, dtype))
        self.examples[node.name] = example
        return proxy(node.name, example)

    def argument(self, name: str, value: Any) -> Proxy:
        """Returns the proxy of an argument: a tensor becomes an input, a number a literal."""
        if isinstance(value, torch.Tensor):
            return self.add(Node(name, "input"), torch.empty_like(value, device="meta"))
        return proxy(self.lift(value), value)

    def lift(self, value: Any) -> Any:
        """Returns what stands for a value in a node's ``args``: a tensor becomes a constant, a number a literal."""
        if isinstance(value, Proxy):
            return value.arg
        if isinstance(value, torch.Tensor) and not value.is_meta:
            known = (name for name, tensor in self.constants.items() if tensor is value)
            name = next(known, f"c{len(self.constants)}")
            self.constants[name], self.examples[name] = value, torch.empty_like(value, device="meta")
            return name
        items = value if isinstance(value, (tuple, list)) else [value]
        if all(item is None or isinstance(item, (int, float)) for item in items):
            return value
        raise TraceError(f"a {type(value).__name__} cannot take part; tensors and numbers can")


def names_of(fn: Callable[..., Any], count: int) -> list[str]:
    """Returns what the function calls its arguments, or ``x0``, ``x1``, … where it does not say, or says what we do."""
    names = list(inspect.signature(getattr(fn, "forward", fn)).parameters)
    usable = len(names) == count and not any(map(TAKEN.fullmatch, names))
    return names if usable else [f"x{i}" for i in range(count)]


def trace(fn: Callable[..., Any], *example_args: Any) -> Graph:
    """Returns the graph of what ``fn`` does to tensors shaped like ``example_args``.

    ``fn`` runs once, on proxies. Whatever else it does happens now and never again: ``print`` shows nodes, not
    values, and a random number drawn is a constant. Arguments that are plain numbers become literals, and so
    do the numbers that a shape consists of. Raises `TraceError`, which names the line, where a value would
    be needed or an operation is not known. The chapter *Compilers and interpreters* tells the story.
    """
    tracer = Tracer()
    names = names_of(fn, len(example_args))
    proxies = list(map(tracer.argument, names, example_args))
    inputs, tracer.nodes = tracer.nodes, []
    with tracer:
        result = fn(*proxies)
    outputs = result if isinstance(result, tuple) and len(result) > 1 else (result,)
    returned = tuple(map(tracer.lift, outputs))
    return Graph(tuple(inputs), tuple(tracer.nodes), returned, tracer.constants)
