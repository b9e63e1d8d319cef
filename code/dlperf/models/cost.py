"""What a step asks of a machine: each operator that it calls, with its arithmetic and its traffic."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry


@dataclass(frozen=True)
class Operator:
    """One call of an operator: its FLOPs, and the fewest bytes that it can move."""

    name: str
    flops: int
    bytes: int


class _Count(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Operator] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        made = func(*args, **kwargs)
        if func.namespace == "aten" and not func.is_view:
            packet = func.overloadpacket
            flops = flop_registry[packet](*args, **kwargs, out_val=made) if packet in flop_registry else 0
            self.found.append(Operator(packet.__name__, flops, traffic((args, kwargs), made)))
        return made


def traffic(read: Any, made: Any) -> int:
    """Returns the bytes of all tensors that are read or made: what is read twice counts once, what changes, twice."""
    sizes = [{t.data_ptr(): t.numel() * t.element_size() for t in tensors(part)} for part in (read, made)]
    return sum(sum(part.values()) for part in sizes)


def tensors(values: Any) -> Iterable[Tensor]:
    """Yields the tensors in nested values."""
    return (leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor))


def operators(step: Callable[[], object]) -> list[Operator]:
    """Returns what ``step`` calls, in order, backward too; views, which neither compute nor move, are left out."""
    with _Count() as counting:
        step()
    return counting.found
