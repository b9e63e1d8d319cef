"""A training step of a device that shares a batch with others: gradients exchanged at its end, or on the way.

The chapter *Training on multiple GPUs, from scratch* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.optim import Optimizer

AllReduce = Callable[[Tensor], Any]
"""Adds up a tensor over all devices, in place; or begins to, and returns what one can ``wait()`` for."""

Weights = Iterable[nn.Parameter]
"""What is trained."""


def split_batch(
    inputs: Tensor,
    targets: Tensor,
    rank: int,
    k: int,
) -> tuple[Tensor, Tensor]:
    """Returns the examples of device `rank` of k: the first devices
    get one more where k does not divide the batch."""
    return inputs.tensor_split(k)[rank], targets.tensor_split(k)[rank]


def train_batch(
    model: nn.Module,
    optimizer: Optimizer,
    inputs: Tensor,
    targets: Tensor,
    batch: int,
    exchange: Callable[[], object],
) -> None:
    """Takes a step on this device's share of a batch of so many.

    `exchange` turns this device's gradients into those of all.
    """
    loss = cross_entropy(model(inputs), targets, reduction="sum")
    (loss / batch).backward()
    exchange()
    optimizer.step()
    optimizer.zero_grad()


def add_up(weights: Iterable[Tensor], all_reduce: AllReduce) -> None:
    """Sums all gradients over all devices, in one message."""
    gradients = [each.grad for each in weights if each.grad is not None]
    flat = parameters_to_vector(gradients)  # one tensor, a copy
    all_reduce(flat)
    vector_to_parameters(flat, gradients)  # they are views of it now


class EachGradient:
    """Sends each gradient in the backward pass, as soon as it is
    there; `send` begins to, and returns what to wait for."""

    def __init__(self, weights: Weights, send: AllReduce) -> None:
        self.send, self.sent = send, list[Any]()
        self.hooks = []
        for each in weights:
            hook = each.register_post_accumulate_grad_hook(self.add)
            self.hooks.append(hook)

    def add(self, weight: Tensor) -> None:
        """Called by autograd: this weight has its gradient."""
        self.start(weight.grad)

    def start(self, tensor: Any) -> None:
        self.sent.append(self.send(tensor))

    def finish(self) -> None:
        """Waits for all sums: the exchange of `train_batch`."""
        for message in self.sent:
            message.wait()
        self.sent.clear()

    def close(self) -> None:
        """Takes the hooks off the weights again."""
        for hook in self.hooks:
            hook.remove()


class Buckets(EachGradient):
    """The same in messages of at least so many bytes."""

    def __init__(self, weights: Weights, size: float, send: AllReduce):
        super().__init__(weights, send)
        self.size, self.ready = size, list[Tensor]()

    def add(self, weight: Tensor) -> None:
        self.ready.append(weight)
        if sum(w.nbytes for w in self.ready) >= self.size:
            self.flush()

    def flush(self) -> None:
        add_up(self.ready, self.start)
        self.ready = []

    def finish(self) -> None:
        if self.ready:
            self.flush()
        super().finish()
