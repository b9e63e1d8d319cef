"""ZeRO: what each of k processes holds of a model's state when it is sharded, and what it sends for that in a step.

Stage 0 is data parallelism: everybody holds everything. Stage 1 shards the optimizer's state, stage 2 the gradients
too, stage 3 also the parameters. After Rajbhandari et al., *ZeRO: Memory Optimizations Toward Training Trillion
Parameter Models*, SC 2020, figure 1 and sections 5 and 7. The chapter *Multiple GPUs, concisely* tells the story.
"""

from __future__ import annotations

from dataclasses import dataclass

STAGES = (0, 1, 2, 3)


@dataclass(frozen=True)
class Bytes:
    """How many bytes of each kind a parameter takes in a training step."""

    parameters: int
    gradients: int
    optimizer: int

    def __add__(self, other: Bytes) -> Bytes:
        mine, theirs = vars(self).values(), vars(other).values()
        return Bytes(*(a + b for a, b in zip(mine, theirs, strict=True)))

    @property
    def total(self) -> int:
        """All of them."""
        return self.parameters + self.gradients + self.optimizer


FLOAT32 = Bytes(parameters=4, gradients=4, optimizer=8)
"""Adam in float32: its two moments beside parameter and gradient."""

MIXED = Bytes(parameters=2, gradients=2, optimizer=12)
"""Adam in mixed precision: 16-bit parameters and gradients, and in float32 the parameters and both moments."""


def held(
    each: Bytes,
    parameters: int,
    k: int,
    stage: int,
) -> float:
    """Returns the bytes of model state in each of `k` processes."""
    _check(k, stage)
    shared = (
        each.parameters / (k if stage >= 3 else 1)
        + each.gradients / (k if stage >= 2 else 1)
        + each.optimizer / (k if stage >= 1 else 1)
    )
    return parameters * shared


def sent(nbytes: float, k: int, stage: int) -> float:
    """Returns the bytes that each of `k` processes sends in a step.

    `nbytes` are those of all parameters, or of all gradients.
    """
    _check(k, stage)
    one_pass = nbytes * (k - 1) / k  # of a ring
    reduce_scatter, all_gather = one_pass, one_pass
    gathers = 2 if stage == 3 else 1  # forward and backward
    return reduce_scatter + gathers * all_gather


def sent_by_gloo(nbytes: float, k: int, gathers: int) -> float:
    """Returns what `sent` becomes where a reduce-scatter is an all-reduce of which all but a part is thrown away.

    So it is in PyTorch's gloo (pytorch/pytorch#118911). ``gathers`` is how often parameters are gathered in a step.
    """
    _check(k, 0)
    return nbytes * (k - 1) / k * (2 + gathers)


def tokens_to_hide(
    flops: float,
    rate: float,
    k: int,
    bytes_each: int = 2,
) -> float:
    """Returns how many tokens a process needs per step so that a
    layer's products take as long as gathering the next layer.

    A device computes `flops` a second and sends `rate` B/s. In the
    forward pass a parameter costs 2 FLOP for each token.
    """
    _check(k, 3)
    seconds_of_a_gather = bytes_each * (k - 1) / k / rate
    seconds_of_a_token = 2 / flops
    return seconds_of_a_gather / seconds_of_a_token


def _check(k: int, stage: int) -> None:
    if k < 1:
        raise ValueError(f"there is at least one process, got {k}")
    if stage not in STAGES:
        raise ValueError(f"ZeRO has the stages {STAGES}, 0 for none, got {stage}")
