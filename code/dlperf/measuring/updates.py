"""Time optimizer updates with warm or cold caches, and fused, to separate call overhead from cache misses."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.measuring.model import uncached
from dlperf.models.steps import Step
from dlperf.profiles import waited_for
from dlperf.turns import interleave, seconds

Call = Callable[[], object]


def costs(step: Step, device: torch.device | str, repeats: int = 7) -> dict[str, Measurement]:
    """Returns the seconds of three updates of the weights of ``step``, taken in turn, with made-up gradients.

    ``again`` comes right after another, so that a cache may hold its data; ``later`` after an array that fits no cache
    was changed; and so does ``fused``, which asks once for all weights. Changes the weights.
    """
    for weight in step.model.parameters():
        weight.grad = torch.full_like(weight, 1e-3)
    plain = step.optimizer.step
    kind: Any = type(step.optimizer)
    fused = kind(step.model.parameters(), lr=1e-3, fused=True).step
    array = torch.zeros(uncached(device) // 2, device=device)
    forget = partial(array.add_, 1)
    sides: dict[str, tuple[Call, Call]] = {"again": (plain, plain), "later": (forget, plain), "fused": (forget, fused)}

    def second(first: Call, then: Call) -> float:
        waited_for(first, device)()
        return seconds(waited_for(then, device))()

    taken = interleave({name: partial(second, *pair) for name, pair in sides.items()}, repeats)
    env = environment(device)
    return {name: side.measurement(lambda s: s, "s", name, environment=env) for name, side in taken.items()}
