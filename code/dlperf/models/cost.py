"""What a step asks of a machine: each operator that it calls, with its arithmetic and its traffic."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.flop_counter import flop_registry, sdpa_backward_flop_count, sdpa_flop_count
from torch.utils.module_tracker import ModuleTracker

_ATTENTION = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
_ATTENTION_BACKWARD = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward

FORMULAS: dict[Any, Callable[..., int]] = {
    **flop_registry,
    _ATTENTION: lambda q, k, v, *_, **__: sdpa_flop_count(q.shape, k.shape, v.shape),
    _ATTENTION_BACKWARD: lambda grad, q, k, v, *_, **__: sdpa_backward_flop_count(
        grad.shape, q.shape, k.shape, v.shape
    ),
}
"""The FLOPs of an operator: PyTorch's own formulas, and those of attention on a CPU, which PyTorch has for GPUs only.

Like PyTorch's, they count the half of the scores that a causal mask throws away.
"""


@dataclass(frozen=True)
class Operator:
    """One call of an operator: its FLOPs, and the fewest bytes that it can move.

    ``phase`` is the outermost `record_function` in which it was called; ``layer`` the part of the network, backward
    too, such as ``stem`` or ``blocks.2``. ``alone`` returns a function that calls it again, on tensors of the same
    shapes, strides, types and devices that hold other numbers; ``given`` are the bytes of these tensors.
    """

    name: str
    flops: int
    bytes: int
    phase: str = ""
    layer: str = ""
    alone: Callable[[], Callable[[], object]] = field(default=lambda: lambda: None, compare=False, repr=False)
    given: int = field(default=0, compare=False)


class _Count(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Operator] = []
        self.phases: list[str] = []
        self.modules = ModuleTracker()
        self.layers: dict[int, str] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        made = func(*args, **kwargs)
        name = func.overloadpacket.__name__
        if func.namespace == "profiler":
            self.phases.append(args[0]) if "enter" in name else self.phases.pop()
        layer = self.layer()
        if func.namespace == "aten" and not func.is_view and name != "_unsafe_view":
            packet = func.overloadpacket
            flops = FORMULAS[packet](*args, **kwargs, out_val=made) if packet in FORMULAS else 0
            moved = traffic((args, kwargs), (made, _changed(func, args, kwargs)))
            again = partial(_alone, func, tree_map(_like, (args, kwargs)))
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
    sizes = [{t.data_ptr(): t.numel() * t.element_size() for t in tensors(part)} for part in (read, made)]
    return sum(sum(part.values()) for part in sizes)


def _changed(func: Any, args: Any, kwargs: Any) -> list[Any]:
    """Returns the arguments that an operator changes in place, whether it returns them or not."""
    given = [*zip(func._schema.arguments, args, strict=False)]
    given += [(a, kwargs[a.name]) for a in func._schema.arguments if a.name in kwargs]
    return [value for a, value in given if a.alias_info is not None and a.alias_info.is_write]


def tensors(values: Any) -> Iterable[Tensor]:
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
    """What a tensor looks like, without its numbers."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device

    def make(self) -> Tensor:
        reach = 1 + sum((n - 1) * step for n, step in zip(self.shape, self.stride, strict=True))
        if not self.dtype.is_floating_point:
            whole = torch.zeros(max(reach, 0), dtype=self.dtype, device=self.device)
        else:
            some = torch.empty(min(max(reach, 0), 4096), dtype=self.dtype, device=self.device)
            some.uniform_(0.5, 1)  # no logarithm of it, and no quotient, is out of range
            whole = some.repeat(-(-reach // 4096)) if reach > 4096 else some  # copying is quicker than drawing
        return whole.as_strided(self.shape, self.stride)


def _like(value: Any) -> Any:
    if isinstance(value, Tensor):
        return _Like(tuple(value.shape), value.stride(), value.dtype, value.device)
    return value


def _alone(func: Any, given: Any) -> Callable[[], object]:
    args, kwargs = tree_map(lambda value: value.make() if isinstance(value, _Like) else value, given)
    return lambda: func(*args, **kwargs)
