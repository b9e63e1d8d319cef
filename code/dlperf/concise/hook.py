"""A hook for DDP that sends gradients as bfloat16, on a CPU too, to be copied.

DDP reads the annotations of a hook and takes no strings for them, which `from __future__ import annotations` would
make of them. The chapter *Training on multiple GPUs, concisely* prints it.
"""

from typing import Any

import torch
import torch.distributed as dist
from torch.futures import Future


def average(tensor: torch.Tensor) -> Future[torch.Tensor]:
    """Begins to average a tensor over all processes."""
    tensor /= dist.get_world_size()
    sent = dist.all_reduce(tensor, async_op=True).get_future()
    return sent.then(lambda done: done.value()[0])


def as_bfloat16(send: Any, bucket: dist.GradBucket) -> Future[torch.Tensor]:
    """A hook for DDP: `send` averages a bucket's gradients in half of
    their bytes."""
    gradients = bucket.buffer()
    message = send(gradients.to(torch.bfloat16))
    return message.then(lambda sent: gradients.copy_(sent.value()))
