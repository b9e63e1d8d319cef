"""What a training step keeps in memory, by kind: the bytes of storages that are there, seen from outside the script.

The chapter *Training on multiple GPUs, concisely* draws it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.distributed.tensor import DTensor
from torch.optim import Optimizer


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


class Watch:
    """Looks at one step's memory whenever a module begins or ends, and whenever the backward pass needs a tensor.

    Parameters that `fully_shard` gathers are others than those that the optimizer has, so all that were ever seen are
    asked for their bytes; those that are not gathered have none.
    """

    def __init__(self) -> None:
        self.most = Memory()
        self.parameters: dict[int, nn.Parameter] = {}
        self._saved: list[Tensor] = []
        self._hooks: Any = None

    def enter(self, root: nn.Module) -> None:
        """The forward pass begins: from now on, notes what it saves for the backward pass."""
        self.root = root
        self._saved = []
        self._hooks = saved_tensors_hooks(self._pack, self._unpack)
        self._hooks.__enter__()

    def leave(self) -> None:
        """The forward pass has ended."""
        self._hooks.__exit__(None, None, None)
        self.look()
        own = storages(self.parameters.values())
        kept = sum(size for at, size in storages(self._saved).items() if at not in own)
        self.most.activations = max(self.most.activations, kept)
        self._saved = []

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
        self._saved.append(tensor)
        return tensor

    def _unpack(self, tensor: Tensor) -> Tensor:
        with torch.no_grad():
            self.look()
        return tensor
