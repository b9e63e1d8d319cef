"""Measure a training step's peak memory of parameters, gradients, optimizer state and activations, by hooks.

All is seen from outside the script. The chapter *Training on multiple GPUs, concisely* draws it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.distributed.tensor import DTensor
from torch.multiprocessing.reductions import StorageWeakRef
from torch.optim import Optimizer
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


def storages(tensors: Iterable[Tensor]) -> dict[int, int]:
    """Returns the bytes of the storages behind tensors, by address: of a DTensor, of the part that is here."""
    here = (each._local_tensor if isinstance(each, DTensor) else each for each in tensors)
    found = (each.untyped_storage() for each in here)
    return {each.data_ptr(): each.nbytes() for each in found}


def nbytes(tensors: Iterable[Tensor]) -> int:
    """Returns the bytes behind tensors, each storage once."""
    return sum(storages(tensors).values())


@dataclass
class Memory:
    """Bytes in a process, each kind when it has most of them; their sum can be more than was there at any moment.

    Gradients are those that parameters have: a bucket of DDP counts once a gradient lies in it, and a buffer that no
    parameter leads to, never.
    """

    parameters: int = 0
    gradients: int = 0
    optimizer: int = 0
    activations: int = 0

    @property
    def total(self) -> int:
        """All kinds together."""
        return sum(asdict(self).values())


class Made(TorchDispatchMode):
    """Remembers the storages of what operators return, for as long as they are there; a context manager."""

    def __init__(self) -> None:
        super().__init__()
        self._found: dict[int, StorageWeakRef] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        self.note(each for each in tree_leaves(made) if isinstance(each, Tensor))
        return made

    def note(self, tensors: Iterable[Tensor]) -> None:
        """Remembers tensors that were made elsewhere, too."""
        for each in tensors:
            storage = (each._local_tensor if isinstance(each, DTensor) else each).untyped_storage()
            self._found[storage._cdata] = StorageWeakRef(storage)

    def alive(self, but: Mapping[int, int]) -> int:
        """Returns the bytes of those that are there still, without storages at these addresses."""
        self._found = {key: ref for key, ref in self._found.items() if not ref.expired()}
        there = (torch.UntypedStorage._new_with_weak_ptr(ref.cdata) for ref in self._found.values())
        return sum(each.nbytes() for each in there if each is not None and each.data_ptr() not in but)


class Watch:
    """Looks at one step's memory whenever a module begins or ends, and whenever the backward pass needs a tensor.

    Activations are what the forward pass has saved and is there still when it ends. Where a part of it is computed
    again in the backward pass (`torch.utils.checkpoint`), what it makes there counts, too, when it ends.

    Parameters that `fully_shard` gathers are others than those that the optimizer has, so all that were ever seen are
    asked for their bytes; those that are not gathered have none.
    """

    def __init__(self) -> None:
        self.most = Memory()
        self.parameters: dict[int, nn.Parameter] = {}
        self._made = Made()
        self._open = ExitStack()

    def enter(self, root: nn.Module, *, again: bool = False) -> None:
        """A forward pass begins; from now on, notes what it saves, and where it begins ``again``, what it makes.

        Who computes it again asks for what it saves, and two cannot.
        """
        self.root = root
        self._open.enter_context(self._made if again else saved_tensors_hooks(self._pack, self._unpack))

    def leave(self) -> None:
        """It has ended."""
        self._open.close()
        self.look()
        kept = self._made.alive(storages(self.parameters.values()))
        self.most.activations = max(self.most.activations, kept)

    def look(self) -> None:
        """Notes the bytes of parameters and gradients as they are now."""
        self.parameters |= {id(each): each for each in self.root.parameters()}
        gradients = (each.grad for each in self.parameters.values() if each.grad is not None)
        self.most.parameters = max(self.most.parameters, nbytes(self.parameters.values()))
        self.most.gradients = max(self.most.gradients, nbytes(gradients))

    def look_at(self, optimizer: Optimizer) -> None:
        """Notes the bytes of the optimizer's state, without its step numbers."""
        values = (value for state in optimizer.state.values() for value in state.values())
        self.most.optimizer = nbytes(value for value in values if isinstance(value, Tensor) and value.dim())

    def _pack(self, tensor: Tensor) -> Tensor:
        self._made.note([tensor])
        return tensor

    def _unpack(self, tensor: Tensor) -> Tensor:
        with torch.no_grad():
            self.look()
        return tensor
