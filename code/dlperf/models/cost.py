"""Record each operator that a training step calls, with its FLOPs and memory traffic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch._ops import HigherOrderOperator
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.flop_counter import flop_registry, sdpa_backward_flop_count, sdpa_flop_count
from torch.utils.module_tracker import ModuleTracker

_ATTENTION = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_ATTENTION_BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward


def _recurrent(x: Tensor, weights: Iterable[Tensor]) -> int:
    """Returns the FLOPs of a recurrent layer: each of its matrices is multiplied once by each position of ``x``."""
    return 2 * (x.numel() // max(x.shape[-1], 1)) * sum(w.numel() for w in weights if w.dim() == 2)


FORMULAS: dict[Any, Callable[..., int]] = {
    **flop_registry,
    _ATTENTION: lambda q, k, v, *_, **__: sdpa_flop_count(q.shape, k.shape, v.shape),
    _ATTENTION_BACKWARD: lambda grad, q, k, v, *_, **__: sdpa_backward_flop_count(
        grad.shape, q.shape, k.shape, v.shape
    ),
    torch.ops.aten.mkldnn_rnn_layer: lambda x, *weights, **__: _recurrent(x, weights[:2]),
    torch.ops.aten.mkldnn_rnn_layer_backward: lambda x, *weights, **__: 2 * _recurrent(x, weights[:2]),
    torch.ops.aten._cudnn_rnn: lambda x, weights, *_, **__: _recurrent(x, weights),
    torch.ops.aten._cudnn_rnn_backward: lambda x, weights, *_, **__: 2 * _recurrent(x, weights),
}
"""The FLOPs of an operator: PyTorch's own formulas, and those of attention on a CPU, which PyTorch has for GPUs only.

Like PyTorch's, they count the half of the scores that a causal mask throws away. Of a recurrent layer, for which
PyTorch has none, they count its products, which backward are twice as many: gradients of inputs, and of weights.
"""

_ELSEWHERE = {"profiler", "prim", "c10d", "_c10d_functional"}
"""Namespaces whose operators are not the device's arithmetic or traffic: marks, questions, messages."""


@dataclass(frozen=True)
class Operator:
    """One call of an operator: its FLOPs, and the fewest bytes that it can move.

    ``phase`` is the outermost `record_function` in which it was called; ``layer`` the part of the network, backward
    too, such as ``stem`` or ``blocks.2``. ``alone`` returns a function that calls it again, on tensors of the same
    shapes, strides, types and devices. Floating-point ones hold other numbers; integers and masks, which may say how
    large a result is or where it comes from, the same. ``given`` are the bytes of these tensors.
    """

    name: str
    flops: int
    bytes: int
    phase: str = ""
    layer: str = ""
    alone: Callable[[], Callable[[], object]] = field(default=lambda: lambda: None, compare=False, repr=False)
    given: int = field(default=0, compare=False)


class _Count(TorchDispatchMode):
    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Operator] = []
        self.phases: list[str] = []
        self.modules = ModuleTracker()
        self.layers: dict[int, str] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if isinstance(func, HigherOrderOperator):
            return func(*args, **kwargs)
        if func.overloadpacket not in FORMULAS and torch.is_inference_mode_enabled():
            with self:  # there no autograd has taken a composite operator apart, such as a linear layer
                parts = func.decompose(*args, **kwargs)
            if parts is not NotImplemented:
                return parts
        given = tree_map(_like, (args, kwargs))  # before a call in place changes them
        made = func(*args, **kwargs)
        name = func.overloadpacket.__name__
        if func.namespace == "profiler":
            self.phases.append(args[0]) if "enter" in name else self.phases.pop()
        layer = self.layer()
        if func.namespace not in _ELSEWHERE and not func.is_view and name != "_unsafe_view":
            packet = func.overloadpacket
            flops = FORMULAS[packet](*args, **kwargs, out_val=made) if packet in FORMULAS else 0
            moved = traffic((args, kwargs), (made, _changed(func, args, kwargs)))
            again = partial(_alone, func, given)
            phase = self.phases[0] if self.phases else ""
            self.found.append(Operator(name, flops, moved, phase, layer, again, traffic((args, kwargs), ())))
        return made

    def layer(self) -> str:
        """Returns the layer of what is called now: backward, that of the call whose gradient it is."""
        node = torch._C._current_autograd_node()
        if node is not None:
            return self.layers.get(node._sequence_nr(), "")
        number = torch._C._autograd._get_sequence_nr() - 1  # of the node that this call made for its gradient
        return self.layers.setdefault(number, _layer(self.modules.parents))


def traffic(read: Any, made: Any) -> int:
    """Returns the bytes of all tensors that are read or made: what is read twice counts once, what changes, twice."""
    sizes = [dict(map(_extent, stored)) for stored in (_stored(read), _stored(made))]
    return sum(sum(part.values()) for part in sizes)


def _extent(tensor: Tensor) -> tuple[int, int]:
    """Returns where a tensor lies, and its bytes; one that does not tell where lies where no other does."""
    try:
        place = tensor.data_ptr()
    except RuntimeError:  # its layout is not of strides, or it is a subclass
        place = 0
    return place or id(tensor), tensor.numel() * tensor.element_size()


def _stored(values: Any) -> list[Tensor]:
    """Returns the tensors in nested values; of a sparse one, those of its indices and of its values."""
    return [part for tensor in tensors(values) for part in _dense(tensor)]


def _dense(tensor: Tensor) -> list[Tensor]:
    if tensor.layout == torch.sparse_coo:
        return [tensor._indices(), tensor._values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    return [tensor]


def _changed(func: Any, args: Any, kwargs: Any) -> list[Any]:
    """Returns the arguments that an operator changes in place, whether it returns them or not."""
    given = [*zip(func._schema.arguments, args, strict=False)]
    given += [(a, kwargs[a.name]) for a in func._schema.arguments if a.name in kwargs]
    return [value for a, value in given if a.alias_info is not None and a.alias_info.is_write]


def tensors(values: Any) -> Iterator[Tensor]:
    """Yields the tensors in nested values."""
    return (leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor))


def operators(step: Callable[[], object]) -> list[Operator]:
    """Returns what ``step`` calls, in order, backward too; views, which neither compute nor move, are left out."""
    counting = _Count()
    with counting.modules, counting:
        step()
    return counting.found


def _layer(modules: Iterable[str]) -> str:
    """Returns the outermost part of a network among its ``modules``; of several, named in the plural, which it is."""
    deepest = max((name.split(".") for name in modules), key=len, default=[])
    return ".".join(deepest[1 : 3 if len(deepest) > 2 and deepest[1].endswith("s") else 2])


@dataclass(frozen=True)
class _Like:
    """What a tensor looks like; ``numbers`` only where they are integers or a mask, as they lie in memory."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device
    numbers: Tensor | None = None

    def make(self) -> Tensor:
        whole = _numbers(_reach(self.shape, self.stride), self.dtype, self.device)
        if self.numbers is not None:
            whole.copy_(self.numbers)
        return whole.as_strided(self.shape, self.stride)


@dataclass(frozen=True)
class _Copied:
    """A tensor whose layout is not of strides, such as a sparse one: small, as a rule, and kept as it is."""

    tensor: Tensor

    def make(self) -> Tensor:
        return self.tensor.clone()


def _reach(shape: Iterable[int], stride: Iterable[int]) -> int:
    """Returns how many numbers a tensor spans in memory, those between its own included."""
    return max(0, 1 + sum((n - 1) * step for n, step in zip(shape, stride, strict=True)))


def _numbers(count: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    """Returns so many numbers of [0.5, 1), of which no logarithm and no quotient is out of range; integers are 0.

    Drawing each would take longer than most operators: a block of them repeats.
    """
    if not (dtype.is_floating_point or dtype.is_complex):
        return torch.zeros(count, dtype=dtype, device=device)
    block = torch.empty(min(count, 2**14), device=device).uniform_(0.5, 1).to(dtype)
    return block.repeat(-(-count // max(block.numel(), 1)))[:count]


def _like(value: Any) -> Any:
    if not isinstance(value, Tensor):
        return value
    if value.layout != torch.strided or value.is_nested or type(value) not in (Tensor, torch.nn.Parameter):
        return _Copied(value.detach().clone())
    shape, stride, numbers = tuple(value.shape), value.stride(), None
    if not (value.dtype.is_floating_point or value.dtype.is_complex or value.is_meta):
        flat = value.as_strided((_reach(shape, stride),), (1,), value.storage_offset())
        numbers = flat.to("cpu", copy=True)  # the memory of a GPU may be full
    return _Like(shape, stride, value.dtype, value.device, numbers)


def _alone(func: Any, given: Any) -> Callable[[], object]:
    args, kwargs = tree_map(lambda value: value.make() if isinstance(value, _Like | _Copied) else value, given)
    return lambda: func(*args, **kwargs)
