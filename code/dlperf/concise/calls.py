"""What is asked of process groups, and what leaves a host: collectives by operation, bytes by the kernel's count.

The chapter *Multiple GPUs, concisely* tells the story.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from dlperf.network import INTERFACE

NAMES = {
    "c10d::_allgather_base_": "all-gather",
    "c10d::_reduce_scatter_base_": "reduce-scatter",
    "c10d::allreduce_": "all-reduce",
    "c10d::broadcast_": "broadcast",
    "c10d::send": "send",
    "_c10d_functional::all_gather_into_tensor": "all-gather",
    "_c10d_functional::reduce_scatter_tensor": "reduce-scatter",
    "_c10d_functional::all_reduce": "all-reduce",
}
"""What PyTorch's dispatcher calls the operations that are counted."""


class Calls(TorchDispatchMode):
    """Counts what is asked of process groups, by operation: ``number`` and ``nbytes``, of two tensors the larger's."""

    def __init__(self) -> None:
        super().__init__()
        self.number: dict[str, int] = {}
        self.nbytes: dict[str, int] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if DTensor in types:
            return NotImplemented  # it calls the group itself, which comes back here
        what = NAMES.get(str(getattr(func, "_schema", func)).partition("(")[0].partition(".")[0])
        if what:
            each = [sum(t.nbytes for t in tree_leaves(arg) if isinstance(t, Tensor)) for arg in args]
            self.number[what] = self.number.get(what, 0) + 1
            self.nbytes[what] = self.nbytes.get(what, 0) + max(each)
        return func(*args, **(kwargs or {}))


def transmitted(interface: str = INTERFACE) -> int:
    """Returns the bytes that an interface has sent so far, as the kernel counts them; 0 for one that is not here."""
    with suppress(OSError):
        return dict(_interfaces()).get(interface, 0)
    return 0


def _interfaces() -> Iterator[tuple[str, int]]:
    for line in Path("/proc/self/net/dev").read_text().splitlines()[2:]:
        name, _, numbers = line.partition(":")
        yield name.strip(), int(numbers.split()[8])
