"""Tracing: a function runs once on proxies, which have shapes but no values, and writes down what it does."""

from __future__ import annotations

import inspect
import itertools
import os
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import torch

from dlperf.symbolic.graph import NAMES, Graph, Node, apply

PASSED_OVER = (os.path.dirname(__file__) + os.sep, os.path.dirname(torch.__file__) + os.sep)
"""Code of ours and of PyTorch's, which is not what the user wrote."""


class TraceError(Exception):
    """What the function does cannot be traced. ``filename``, ``lineno`` and ``line`` are the user's, not ours."""

    def __init__(self, reason: str) -> None:
        stack = reversed(traceback.extract_stack())
        frame = next(frame for frame in stack if not frame.filename.startswith(PASSED_OVER))
        self.reason, self.filename, self.lineno, self.line = reason, frame.filename, frame.lineno, frame.line
        super().__init__(f"{Path(frame.filename).name}:{frame.lineno}: {frame.line}\n{reason}")


def _operation(op: str) -> Callable[..., Proxy]:
    def method(self: Proxy, *args: Any, **options: Any) -> Proxy:
        if options:
            raise TraceError(f"{op} is known without {', '.join(options)}; write it with operators")
        return self.tracer.record(op, self, *args)

    return method


def _reduction(op: str) -> Callable[..., Proxy]:
    def method(self: Proxy, dim: Any = None, keepdim: bool = False, **options: Any) -> Proxy:
        return _operation(op)(self, *(() if dim is None and not keepdim else (dim, keepdim)), **options)

    return method


def _reflected(op: str) -> Callable[..., Proxy]:
    return lambda self, other: self.tracer.record(op, other, self)


def _refuse(reason: str) -> Callable[..., NoReturn]:
    def method(self: Proxy, *_: Any, **__: Any) -> NoReturn:
        raise TraceError(f"this {reason}")

    return method


KNOWN = "+ - * / @ neg relu exp tanh sigmoid sqrt reciprocal maximum minimum sum mean transpose reshape linear"
"""What can be traced, as operators, methods and functions of `torch`."""

VALUE = "asks for a value, and while tracing there are only shapes; return the tensor, and look at it outside"
BRANCH = (
    "decides by a value, and while tracing there are only shapes; decide outside, or element by element: torch.maximum"
)
PARTS = "takes a tensor apart, which is not traced; use operations on whole tensors, or take it apart outside"
CHANGE = "changes a tensor in place, and others may see it; write x = x + y, not x += y or x.add_(y)"
OTHER = f"is not among what is traced: {KNOWN}"


class Proxy:
    """Stands for a tensor or number: knows what it would be (``example``: no data), and records what is done to it."""

    __array_ufunc__ = None  # NumPy leaves mixed operators to us

    def __init__(self, tracer: Tracer, arg: Any, example: Any) -> None:
        self.tracer, self.arg, self.example = tracer, arg, example

    __add__ = add = _operation("add")
    __sub__ = sub = _operation("sub")
    __mul__ = mul = _operation("mul")
    __truediv__ = truediv = div = _operation("div")
    __matmul__ = matmul = mm = _operation("matmul")
    __radd__, __rsub__, __rmul__ = _reflected("add"), _reflected("sub"), _reflected("mul")
    __rtruediv__, __rmatmul__ = _reflected("div"), _reflected("matmul")
    __neg__ = neg = _operation("neg")
    relu, exp, tanh, sigmoid = _operation("relu"), _operation("exp"), _operation("tanh"), _operation("sigmoid")
    sqrt, reciprocal = _operation("sqrt"), _operation("reciprocal")
    maximum, minimum, transpose = _operation("maximum"), _operation("minimum"), _operation("transpose")
    sum, mean = _reduction("sum"), _reduction("mean")

    def reshape(self, *shape: Any) -> Proxy:
        return self.tracer.record("reshape", self, tuple(shape[0]) if len(shape) == 1 and _many(shape[0]) else shape)

    def linear(self, weight: Any, bias: Any = None) -> Proxy:
        product = self @ self.tracer.lift(weight).T
        return product if bias is None else product + bias

    T = property(lambda self: self.transpose(0, 1))
    shape = property(lambda self: self.example.shape)
    size = lambda self, *dim: self.example.size(*dim)
    dtype = property(lambda self: self.example.dtype)
    ndim = property(lambda self: self.example.ndim)
    __len__ = lambda self: len(self.example)

    def __repr__(self) -> str:
        return f"<{self.arg}>"

    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _refuse(BRANCH)
    __int__ = __float__ = __index__ = __array__ = item = tolist = numpy = _refuse(VALUE)
    __iter__ = __getitem__ = __contains__ = _refuse(PARTS)
    __iadd__ = __isub__ = __imul__ = __itruediv__ = __setitem__ = _refuse(CHANGE)
    __pow__ = __rpow__ = __abs__ = __mod__ = __floordiv__ = _refuse(OTHER)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise TraceError(f"{name} {CHANGE if name.endswith('_') else OTHER}")

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: tuple = (), kwargs: dict[str, Any] | None = None) -> Any:
        """Hands ``torch.f(x, y)``, also with a real tensor for ``x``, to ``x.f(y)`` of the proxy."""
        options = {key: value for key, value in (kwargs or {}).items() if (key, value) != ("inplace", False)}
        proxy = next((arg for arg in args if isinstance(arg, Proxy)), None)
        method = getattr(cls, func.__name__, None)
        if proxy is None or method is None:
            raise TraceError(f"{func.__name__} {CHANGE if func.__name__.endswith('_') else OTHER}")
        return method(proxy.tracer.lift(args[0]), *args[1:], **options)


class Tracer:
    """Collects the nodes of one function while it runs."""

    def __init__(self, taken: set[str]) -> None:
        self.nodes: list[Node] = []
        self.constants: dict[str, torch.Tensor] = {}
        self.taken = taken

    def fresh(self, letter: str) -> str:
        """Returns the first of ``t0``, ``t1``, … that is not taken, and takes it."""
        name = next(name for i in itertools.count() if (name := f"{letter}{i}") not in self.taken)
        self.taken.add(name)
        return name

    def lift(self, value: Any) -> Proxy:
        """Returns a proxy for whatever stands in an operation: a tensor becomes a constant, a number a literal."""
        if isinstance(value, Proxy):
            return value
        if isinstance(value, torch.Tensor):
            known = (name for name, tensor in self.constants.items() if tensor is value)
            name = next(known, None) or self.fresh("c")
            self.constants[name] = value
            return Proxy(self, name, meta(value))
        if value is None or isinstance(value, (bool, int, float)) or _many(value):
            return Proxy(self, value, value)
        raise TraceError(f"a {type(value).__name__} cannot take part; tensors and numbers can")

    def record(self, op: str, *operands: Any) -> Proxy:
        """Adds a node, evaluated on shapes alone, and returns the proxy of its result."""
        proxies = [self.lift(operand) for operand in operands]
        examples = [proxy.example for proxy in proxies]
        if op == "div" and [isinstance(example, torch.Tensor) for example in examples] == [False, True]:
            return self.record("reciprocal", proxies[1]) * proxies[0]  # as PyTorch does: it rounds twice
        try:
            result = apply(op, *examples)
        except Exception as error:
            raise TraceError(f"{op} is impossible here: {error}") from error
        node = describe(self.fresh("t"), op, tuple(proxy.arg for proxy in proxies), result, examples[0])
        self.nodes.append(node)
        return Proxy(self, node.name, result)


def meta(tensor: torch.Tensor) -> torch.Tensor:
    """Returns a tensor of the same shape, strides and dtype without data: operations on it compute shapes only."""
    return tensor.detach().to("meta")


def describe(name: str, op: str, args: tuple[Any, ...], result: Any, first: Any = None) -> Node:
    """Returns the node whose result looks like ``result``; if that shares the memory of ``first`` it allocates none."""
    if not isinstance(result, torch.Tensor):
        return Node(name, op, args, dtype=type(result))
    view = isinstance(first, torch.Tensor) and result.untyped_storage()._cdata == first.untyped_storage()._cdata
    return Node(name, op, args, tuple(result.shape), result.dtype, 0 if view else result.nbytes)


def _many(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and all(isinstance(item, int) for item in value)


def names_of(fn: Callable[..., Any], count: int) -> list[str]:
    """Returns what the function calls its first ``count`` arguments, or ``x0``, ``x1``, … where it does not say."""
    try:
        parameters = list(inspect.signature(fn).parameters.values())[:count]
    except ValueError:  # a function of C does not tell
        parameters = []
    plain = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return plain if len(plain) == count and NAMES.keys().isdisjoint(plain) else [f"x{i}" for i in range(count)]


def trace(fn: Callable[..., Any], *example_args: Any) -> Graph:
    """Returns the graph of what ``fn`` does to tensors shaped like ``example_args``.

    ``fn`` runs once, on proxies. Whatever else it does happens now and never again: ``print`` shows nodes, not
    values, and a random number drawn is a constant. Arguments that are plain numbers become literals, and so
    do the numbers that a shape consists of. Raises `TraceError`, which names the line, where a value would
    be needed or an operation is not known. The chapter *Compilers and interpreters* tells the story.
    """
    names = names_of(fn, len(example_args))
    tracer = Tracer({*names, *NAMES})
    proxies, inputs = [], []
    for name, value in zip(names, example_args, strict=True):
        if isinstance(value, torch.Tensor):
            proxies.append(Proxy(tracer, name, meta(value)))
            inputs.append(describe(name, "input", (), value))
        else:
            proxies.append(tracer.lift(value))
    result = fn(*proxies)
    outputs = result if isinstance(result, tuple) and len(result) > 1 else (result,)
    return Graph(tuple(inputs), tuple(tracer.nodes), tuple(tracer.lift(o).arg for o in outputs), tracer.constants)
