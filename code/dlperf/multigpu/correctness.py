"""Is it still the same training? What k devices hold after a step against one device, done right and with three bugs.

The chapter *Training on multiple GPUs, from scratch* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from dlperf.multigpu import reduce
from dlperf.multigpu.data_parallel import AllReduce, add_up, split_batch, train_batch
from dlperf.multigpu.group import Crew, first, own_device

BATCHES = 16, 13, 5
"""Examples of a batch: k divides some, and the last leaves devices without any."""

STEPS = 3
"""Weights are compared after so many steps."""

Train = Callable[..., None]
"""Takes a step: ``(model, optimizer, inputs, targets, batch, k, all_reduce, note)``; ``note()`` after the exchange."""


class NoOptimizer:
    """Leaves the weights as they are: to import PyTorch's optimizers takes longer than to compute a gradient."""

    def __init__(self, weights: Any) -> None:
        self.weights = list(weights)

    def step(self) -> None:
        """Changes nothing."""

    def zero_grad(self) -> None:
        """Drops the gradients."""
        for each in self.weights:
            each.grad = None


OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "none": NoOptimizer,
    "sgd": lambda weights: torch.optim.SGD(weights, lr=0.1),
    "adam": lambda weights: torch.optim.Adam(weights, lr=0.01),
}


def network(dtype: torch.dtype, device: torch.device, *, normalised: bool = False) -> nn.Module:
    """Returns a small convolutional network for images of 3 x 16 x 16, the same everywhere.

    ``normalised`` by the statistics of the examples that it sees, as batch norm does.
    """
    torch.manual_seed(0)
    norm = nn.BatchNorm2d(8) if normalised else nn.Identity()
    layers = nn.Conv2d(3, 8, 3, stride=2), norm, nn.ReLU(), nn.Conv2d(8, 16, 3, stride=2), nn.ReLU()
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(16 * 3 * 3, 10)).to(device, dtype)


def examples(batch: int, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    """Returns random images and classes, the same everywhere."""
    draw = torch.Generator().manual_seed(1)
    images = torch.randn(batch, 3, 16, 16, dtype=torch.float64, generator=draw)
    return images.to(device, dtype), torch.randint(10, (batch,), generator=draw).to(device)


def right(
    model: Any, optimizer: Any, inputs: Tensor, targets: Tensor, batch: int, k: int, all_reduce: Any, note: Any
) -> None:
    """Takes the step of `train_batch`."""

    def exchange() -> None:
        add_up(model.parameters(), all_reduce)
        note()

    train_batch(model, optimizer, inputs, targets, batch, exchange)


def mean_of_means(
    model: Any, optimizer: Any, inputs: Tensor, targets: Tensor, batch: int, k: int, all_reduce: Any, note: Any
) -> None:
    """Takes a step by the mean of the devices' own mean gradients: wrong where shares are not equal."""
    if len(inputs):
        (cross_entropy(model(inputs), targets) / k).backward()
    else:  # the mean of no losses is no number
        (model(inputs).sum() * 0).backward()
    add_up(model.parameters(), all_reduce)
    note()
    optimizer.step()
    optimizer.zero_grad()


def sum_of_means(
    model: Any, optimizer: Any, inputs: Tensor, targets: Tensor, batch: int, k: int, all_reduce: Any, note: Any
) -> None:
    """Takes a step by the sum of the means, which nobody divided by k: a wrong scale where shares are equal."""
    right(model, optimizer, inputs, targets, len(inputs), k, all_reduce, note)


def sum_in_a_copy(
    model: Any, optimizer: Any, inputs: Tensor, targets: Tensor, batch: int, k: int, all_reduce: Any, note: Any
) -> None:
    """Takes a step in which the sum reaches the first device only: a classic bug."""

    def to_a_copy(tensor: Tensor) -> None:
        total = tensor.clone()
        all_reduce(total)
        if dist.get_rank() == 0:
            tensor.copy_(total)
        else:
            tensor = total.to(tensor.device)  # a new name for it, and nothing else

    right(model, optimizer, inputs, targets, batch, k, to_a_copy, note)


RECIPES: dict[str, Train] = {
    "right": right,
    "means": mean_of_means,
    "scale": sum_of_means,
    "copy": sum_in_a_copy,
}


def relative_error(found: Sequence[Tensor], truth: Sequence[Tensor]) -> float:
    """Returns the length of the difference over that of the truth, all tensors together."""
    mine, true = (torch.cat([t.detach().double().flatten().cpu() for t in each]) for each in (found, truth))
    return float((mine - true).norm() / true.norm())


def train(
    recipe: str,
    optimizer: str,
    steps: int,
    model: nn.Module,
    inputs: Tensor,
    targets: Tensor,
    batch: int,
    k: int,
    all_reduce: Any,
) -> tuple[list[Tensor], list[Tensor]]:
    """Returns the first step's gradient and the weights after so many ``steps``, by one of `RECIPES`."""
    chosen = OPTIMIZERS[optimizer](model.parameters())
    gradients: list[list[Tensor]] = []
    note = lambda: gradients.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
    for _ in range(steps):
        RECIPES[recipe](model, chosen, inputs, targets, batch, k, all_reduce, note)
    return gradients[0], list(model.parameters())


Case = tuple[str, str, int, int, int, torch.dtype, bool]
"""Recipe, optimizer, devices, batch, steps, numbers, and whether batch norm takes each device's own statistics."""


@torch.backends.cudnn.flags(enabled=True, allow_tf32=False)  # float32 is to be float32
def errors(rank: int, size: int, cases: Sequence[Case], sum_up: Callable[..., None]) -> dict[Case, tuple[float, float]]:
    """Returns the relative errors of this device's gradient and weights in each case that it takes part in.

    The truth is one device's with the whole batch, in float64.
    """
    device, found = own_device(), {}
    truth = cache(partial(_on_one_device, device))
    for case in cases:
        recipe, optimizer, k, batch, steps, dtype, normalised = case
        group = first(k)
        if rank >= k:
            continue
        model = network(dtype, device, normalised=normalised)
        share = split_batch(*examples(batch, dtype, device), rank, k)
        mine = train(recipe, optimizer, steps, model, *share, batch, k, partial(sum_up, group=group))
        gradient, weights = truth(optimizer, steps, batch, normalised)
        found[case] = relative_error(mine[0], gradient), relative_error(mine[1], weights)
    return found


def _on_one_device(
    device: torch.device, optimizer: str, steps: int, batch: int, normalised: bool
) -> tuple[list[Tensor], list[Tensor]]:
    model = network(torch.float64, device, normalised=normalised)
    whole = examples(batch, torch.float64, device)
    return train("right", optimizer, steps, model, *whole, batch, 1, lambda flat: None)


def compare(crew: Crew, pair: Crew, most: int = 8, sum_up: AllReduce = reduce.through_one) -> dict[str, Any]:
    """Returns the largest relative errors of all devices, by named case, for 1 to ``most`` devices.

    ``float64`` and ``float32``: of the gradient, done right. ``<recipe>-<what>``: of a gradient on the first device,
    on the other, and of the weights after SGD and Adam, for the two of ``pair`` and 13 examples; 16 for ``scale``,
    which is nothing but a scale where shares are equal. ``norm``: of the gradient with batch norm by each device's
    own statistics. ``by-k`` are lists for the figure, from one device on.
    """
    ks = range(1, most + 1)
    exact = {
        (dtype, k, batch): ("right", "none", k, batch, 1, dtype, False)
        for dtype in (torch.float64, torch.float32)
        for k in ks
        for batch in BATCHES
    }
    bugs: dict[tuple[str, str], Case] = {
        (name, opt): (name, opt, 2, 16 if name == "scale" else 13, STEPS, torch.float64, False)
        for name in RECIPES
        for opt in ("sgd", "adam")
    }
    means = {k: ("means", "none", k, 13, 1, torch.float64, False) for k in ks}
    norm: Case = ("right", "none", 2, 16, 1, torch.float64, True)
    answers = crew.run(errors, [*exact.values(), *means.values(), norm], sum_up)
    two = pair.first(2).run(errors, list(bugs.values()), sum_up)
    worst = lambda case: max(answer[case][0] for answer in answers if case in answer)
    found: dict[str, Any] = {"norm": worst(norm)}
    for dtype in (torch.float64, torch.float32):
        of = [max(worst(exact[dtype, k, batch]) for batch in BATCHES) for k in ks]
        name = str(dtype).removeprefix("torch.")
        found |= {name: max(of), f"{name}-by-k": of}
    found["means-by-k"] = [worst(means[k]) for k in ks]
    for name in RECIPES:
        found[f"{name}-first"] = two[0][bugs[name, "sgd"]][0]
        found[f"{name}-other"] = two[1][bugs[name, "sgd"]][0]
        for opt in ("sgd", "adam"):
            found[f"{name}-{opt}"] = max(answer[bugs[name, opt]][1] for answer in two)
    return found
