"""What a training step keeps in memory: parameters, gradients, the optimizer's state, and activations.

The state is counted by the storages of tensors. Activations are counted twice: by what autograd saves, and by what
the allocator handed out. The chapter *Multiple GPUs, concisely* tells the story.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks
from torch.distributed.tensor import DTensor
from torch.profiler import ProfilerActivity, profile
from torch.utils.checkpoint import checkpoint

from dlperf.concise.zero import Bytes
from dlperf.device import has_cuda
from dlperf.models.gpt import GPT, Size

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else the profiler writes its own notes into the chapter's output


def nbytes(tensors: Iterable[Tensor]) -> int:
    """Returns the bytes of the storages behind tensors, each storage once; of a DTensor, of the part that is here."""
    here = (t.to_local() if isinstance(t, DTensor) else t for t in tensors)
    storages = [t.untyped_storage() for t in here]
    return sum({each.data_ptr(): each.nbytes() for each in storages}.values())


def held(model: nn.Module, optimizer: Any) -> Bytes:
    """Returns the bytes of a model's state in this process.

    Of a `ZeroRedundancyOptimizer`, its own part is counted.
    """
    weights = list(model.parameters())
    state = getattr(optimizer, "optim", optimizer).state.values()
    return Bytes(
        parameters=nbytes(weights),
        gradients=nbytes(p.grad for p in weights if p.grad is not None),
        optimizer=nbytes(
            value
            for each in state
            for value in each.values()
            if isinstance(value, Tensor) and value.dim()  # no step number
        ),
    )


def saved(forward: Callable[[], Tensor], model: nn.Module) -> int:
    """Returns the bytes that autograd saves for the backward pass.

    What it saves of the parameters is there anyway, and not counted.
    """
    kept: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor.detach()  # keeps the storage, so none is reused

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = forward()
    for weights in model.parameters():
        kept.pop(weights.untyped_storage().data_ptr(), None)
    del loss
    return sum(kept.values())


def activations(size: Size, batch: int, bytes_each: int = 4) -> int:
    """Returns the bytes that the GPT's forward pass keeps for the
    backward pass, `batch` pieces of text as long as its context.
    """
    tokens = batch * size.context
    attention = 1 + 1 + 3 + 1  # input, normalised, q k v, mixed
    perceptron = 1 + 1 + 4 + 4  # the same, and around the GELU
    blocks = size.layers * (attention + perceptron) * size.width
    ends = 2 * size.width + size.vocabulary  # last norm, log softmax
    return bytes_each * tokens * (blocks + ends)


def activations_recomputed(size: Size, batch: int, bytes_each: int = 4) -> int:
    """Returns the same where each block keeps its input alone."""
    tokens = batch * size.context
    return bytes_each * tokens * ((size.layers + 2) * size.width + size.vocabulary)


def scores(size: Size, batch: int, bytes_each: int = 4) -> int:
    """Returns the bytes of all attention scores, which fused attention does not keep."""
    return bytes_each * size.layers * batch * size.heads * size.context**2


class Recomputed(nn.Module):
    """A block that keeps its input alone, and is computed again
    when its gradient is due.
    """

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block

    def forward(self, x: Tensor) -> Tensor:
        return checkpoint(self.block, x, use_reentrant=False)


def recompute(model: GPT) -> GPT:
    """Returns the model, whose blocks are from now on `Recomputed`."""
    for i in range(model.size.layers):
        model.blocks[i] = Recomputed(model.blocks[i])
    return model


def allocated(fn: Callable[[], Any], device: torch.device) -> tuple[int, int]:
    """Returns how many bytes of tensors were at most alive in ``fn``, and are after it, beyond those before it.

    What ``fn`` returns stays alive until they are counted. On a GPU its allocator knows; on a CPU the profiler notes
    what is allocated and freed.
    """
    if has_cuda(device):
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        made = fn()
        most, left = torch.cuda.max_memory_allocated(device), torch.cuda.memory_allocated(device)
        del made
        return most - before, left - before
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        made = fn()
    del made
    events = [event for event in seen.profiler.kineto_results.events() if event.name() == "[memory]"]
    events.sort(key=lambda event: event.start_ns())
    alive = list(accumulate((event.nbytes() for event in events), initial=0))
    return max(alive), alive[-1]
