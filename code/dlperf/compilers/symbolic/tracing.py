"""Tracing: a function runs once on proxies, which have shapes but no values, and writes down what it does."""

from __future__ import annotations

import inspect
import os
import re
import traceback
from collections.abc import Callable
from types import CodeType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from dlperf.compilers.symbolic.graph import NAMES, OPERATIONS, Graph, Node, evaluate

PASSED_OVER = tuple(os.path.dirname(file) + os.sep for file in (__file__, torch.__file__, os.__file__))
"""Code of ours, of PyTorch's and of Python's, which is not what the user wrote."""

TAKEN = re.compile(rf"[tc]\d+|loop_.*|{'|'.join(NAMES)}")
"""What no input may be called, since nodes, constants and loops are, and what every program knows."""

SHAPES = {"shape", "dtype", "ndim", "dim", "size", "numel", "__len__"}
"""What can be asked while tracing, since it depends on no value."""

REFLECTED = {"__rsub__": "sub", "__rdiv__": "div", "__rmatmul__": "matmul"}
"""What PyTorch calls an operator that has a number on its left."""

KEYWORDS = ("bias", "dim", "keepdim")
"""Arguments that may be given by name, in the order in which they stand."""

VALUES = {
    "item|tolist|numpy|__(array|int|float|index|format)__": "asks for a value, and while tracing there are only shapes;"
    " return the tensor, and look at it outside",
    "__(bool|contains|eq)__|eq|ne|lt|le|gt|ge": "decides by a value, and while tracing there are only shapes;"
    " decide outside, or element by element: torch.maximum",
    "__set(item)?__|.*[^_]_": "changes a tensor in place, and others may see it;"
    " write x = x + y, not x += y or x.add_(y)",
}
"""Why a function of PyTorch's that reads or changes values is refused, by its name, and what would be right."""

REASONS = VALUES | {
    "__getitem__|unbind": "takes a tensor apart, which is not traced;"
    " use operations on whole tensors, or take it apart outside",
    ".*": f"is not among what is traced: {', '.join(OPERATIONS)}",
}
"""The same for every function; the first that fits."""


class TraceError(Exception):
    """What the function does cannot be traced. ``filename``, ``lineno`` and ``line`` are the user's, not ours.

    They say where it happened or, if ``code`` is given, where that begins.
    """

    def __init__(self, reason: str, code: CodeType | None = None) -> None:
        stack = traceback.extract_stack()
        frame = next((frame for frame in reversed(stack) if not frame.filename.startswith(PASSED_OVER)), stack[0])
        if code:
            frame = traceback.FrameSummary(code.co_filename, code.co_firstlineno, code.co_name)
        self.reason, self.filename, self.lineno, self.line = reason, frame.filename, frame.lineno, frame.line
        super().__init__(f"{os.path.basename(frame.filename)}:{frame.lineno}: {frame.line}\n{reason}")


class Proxy(torch.Tensor):
    """Stands for a tensor or number while ``tracer`` traces a function; ``arg`` is its name, or the number."""

    tracer: Tracer
    arg: Any

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f"<{self.arg}>"


class Tracer(TorchFunctionMode):
    """Writes down what a function does to proxies: ``nodes``, and as ``constants`` the tensors that it has at hand.

    ``examples`` has by name what stands for a value: a tensor without data, or a number. ``refusal`` is the first
    `TraceError`.
    """

    def __init__(self) -> None:
        super().__init__()
        self.nodes: list[Node] = []
        self.constants: dict[str, torch.Tensor] = {}
        self.examples: dict[str, Any] = {}
        self.refusal: TraceError | None = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Called by PyTorch in place of each of its functions, methods and operators; returns what these would.

        What is known is traced for tensors at hand too, whose values may change. The rest, such as ``weight.T``, and
        what makes a tensor out of nothing happens now.
        """
        name = func.__self__.__name__ if func.__name__ == "__get__" else func.__name__
        options = dict(kwargs or {})
        tensors = [leaf for leaf in tree_leaves((args, options)) if isinstance(leaf, torch.Tensor)]
        known = name in OPERATIONS or name in REFLECTED or any(re.fullmatch(names, name) for names in VALUES)
        if name in SHAPES or not any(known or tensor.is_meta for tensor in tensors):
            return func(*args, **options)
        try:
            return self.note(func, name, args, options)
        except TraceError as error:  # kept, since the function may catch it and go on
            self.refusal = self.refusal or error
            raise

    def note(self, func: Any, name: str, args: Any, options: dict[str, Any]) -> Any:
        """Returns the proxy of what the function will return, written down as a node."""
        if options.pop("inplace", False):  # relu(x, inplace=True) is relu_(x)
            name += "_"
        op = REFLECTED.get(name, name)
        if op not in OPERATIONS:
            raise TraceError(next(f"{name} {why}" for names, why in REASONS.items() if re.fullmatch(names, name)))
        args = (*(args if op == name else args[::-1]), *(options.pop(key) for key in KEYWORDS if key in options))
        if options:
            raise TraceError(f"{name} is known without {', '.join(options)}; write it with operators")
        operands = tuple(self.lift(tuple(arg) if isinstance(arg, list) else arg) for arg in args)
        is_tensor = [isinstance(self.examples.get(arg), torch.Tensor) for arg in operands]
        is_function = func is getattr(torch, op, None)
        if is_function and not any(is_tensor):  # makes a tensor of numbers
            return func(*(self.examples.get(arg, arg) for arg in operands))
        if (is_function and not is_tensor[0]) or OPERATIONS[op][0].count("{}") not in (0, len(operands)):
            op = f"torch.{op}"  # torch.div(3, x) rounds otherwise than 3 / x, and torch.add(x, 2, y) has no operator
        return self.record(op, *operands)

    def record(self, op: str, *operands: Any) -> Proxy:
        """Adds a node, evaluated on shapes alone, and returns the proxy of its result."""
        if not torch.is_grad_enabled() or torch._C._is_any_autocast_enabled():
            raise TraceError(
                f"{op} is done under torch.no_grad, torch.autocast or in an autograd.Function, which is not traced;"
                " put no_grad around the call, and change types outside"
            )
        node = Node(f"t{len(self.nodes)}", op, operands)
        try:
            return self.add(node, evaluate(node, self.examples))
        except Exception as error:
            raise TraceError(f"{op} is impossible here: {error}") from error

    def add(self, node: Node, example: Any) -> Proxy:
        """Adds a node whose result looks like ``example``, and returns the proxy of that."""
        shape, dtype = getattr(example, "shape", None), getattr(example, "dtype", type(example))
        self.nodes.append(Node(node.name, node.op, node.args, shape, dtype))
        self.examples[node.name] = example
        return self.proxy(node.name, example)

    def proxy(self, arg: Any, example: Any) -> Proxy:
        """Returns the proxy of what looks like ``example``: a tensor without data, or a number."""
        result = torch.as_tensor(example, device="meta").as_subclass(Proxy)
        result.tracer, result.arg = self, arg
        return result

    def argument(self, name: str, value: Any) -> Proxy:
        """Returns the proxy of an argument: a tensor becomes an input, a number a literal."""
        if isinstance(value, torch.Tensor):
            return self.add(Node(name, "input"), torch.empty_like(value, device="meta"))
        return self.proxy(self.lift(value), value)

    def lift(self, value: Any) -> Any:
        """Returns what stands for a value in a node's ``args``: a tensor becomes a constant, a number a literal."""
        if getattr(value, "tracer", None) is self:
            return value.arg
        if isinstance(value, torch.Tensor):
            if value.is_meta:
                raise TraceError("a tensor of torch.vmap or the like, or of another trace, cannot take part")
            known = (name for name, tensor in self.constants.items() if tensor is value)
            name = next(known, f"c{len(self.constants)}")
            self.constants[name], self.examples[name] = value, torch.empty_like(value, device="meta")
            return name
        items = value if type(value) in (tuple, torch.Size) else [value]
        if all(item is None or type(item) in (bool, int, float) for item in items):
            return value
        raise TraceError(f"a {type(value).__name__} cannot take part; tensors and numbers can")


def names_of(fn: Callable[..., Any], count: int) -> list[str]:
    """Returns what the function calls its arguments, or ``x0``, ``x1``, … where it does not say, or says what we do."""
    try:
        names = list(inspect.signature(getattr(fn, "forward", fn)).parameters)
    except ValueError:  # built in
        names = []
    usable = len(names) == count and not any(map(TAKEN.fullmatch, names))
    return names if usable else [f"x{i}" for i in range(count)]


def trace(fn: Callable[..., Any], *example_args: Any) -> Graph:
    """Returns the graph of what ``fn`` does to tensors shaped like ``example_args``.

    ``fn`` runs once, on proxies. Whatever else it does happens now and never again: ``print`` shows nodes, not
    values, and a random number drawn is a constant. Plain numbers become literals, whether they are arguments
    or a shape consists of them; next to a tensor they are given to ``fn`` as they are. Raises `TraceError`, which
    names the line, where a value would be needed or an operation is not known. The chapter *Compilers and
    interpreters* tells the story.
    """
    tracer = Tracer()
    names = names_of(fn, len(example_args))
    among_tensors = any(isinstance(arg, torch.Tensor) for arg in example_args)
    given = [
        tracer.lift(arg) if among_tensors and not isinstance(arg, torch.Tensor) else tracer.argument(name, arg)
        for name, arg in zip(names, example_args, strict=True)
    ]
    inputs, tracer.nodes = tracer.nodes, []
    try:
        with torch.enable_grad(), tracer:
            result = fn(*given)
    finally:
        if tracer.refusal:
            raise tracer.refusal
    outputs = result if type(result) is tuple and len(result) > 1 else (result,)
    try:
        returned = tuple(map(tracer.lift, outputs))
    except TraceError as error:  # too late to know the line
        raise TraceError(error.reason, getattr(getattr(fn, "forward", fn), "__code__", None)) from None
    return Graph(tuple(inputs), tuple(tracer.nodes), returned, tracer.constants)
