"""Computing that is declared: a device waits as long as another would compute, and what it sends is real.

So more devices can be tried than there are cores. The chapter *Training on multiple GPUs, from scratch* tells the
story.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from time import perf_counter

import torch
import torch.distributed as dist

from dlperf.device import synchronize
from dlperf.multigpu.group import first, own_device


@dataclass(frozen=True)
class Declared:
    """A step that waits as long as a device would compute, and really sends: the seconds of its ``forward`` and
    ``backward`` pass, and the bytes of its messages, in order."""

    forward: float
    backward: float
    sizes: tuple[int, ...]

    def share(self, k: int) -> Declared:
        """Returns the step of one of k devices that share the batch."""
        return Declared(self.forward / k, self.backward / k, self.sizes)


def declared_seconds(rank: int, size: int, step: Declared, k: int) -> float:
    """Returns the seconds of a declared step on the first ``k`` devices, of which this is one."""
    group = first(k)
    gradients = [torch.zeros(nbytes // 4, device=own_device()) for nbytes in step.sizes]
    dist.barrier(group=group)
    start = perf_counter()
    time.sleep(step.forward)
    sent = []
    for gradient in gradients:
        time.sleep(step.backward / len(gradients))
        if k > 1:
            sent.append(dist.all_reduce(gradient, group=group, async_op=True))
    for message in sent:
        message.wait()
    synchronize(gradients[0].device)
    return perf_counter() - start
