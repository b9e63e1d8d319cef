"""What the tests of several devices have them do, in a module that these import quickly."""

from __future__ import annotations

from pathlib import Path

import torch

from dlperf.multigpu import reduce, road
from dlperf.multigpu.group import first, own_device

FRAME = 1514  # bytes of a full frame, of which 1448 are a program's


def sums(rank: int, size: int, algorithm: str, k: int, n: int) -> torch.Tensor:
    """Returns the sum of what each of the first ``k`` has: 0.0, 0.1, 0.2 and so on, plus its rank."""
    tensor = torch.arange(n, device=own_device()) * 0.1 + rank
    reduce.ALGORITHMS[algorithm](tensor, first(k))
    return tensor.cpu()


def segments_sent_again(rank: int, size: int) -> int:
    """Returns the segments that a host's TCP has sent again so far: where a machine is busy, they are not few.

    Each has left by the link as often, in a frame of at most 1514 bytes.
    """
    names, figures = (
        line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Tcp:")
    )
    return int(figures[names.index("RetransSegs")])


def weights_after(rank: int, size: int, exchange: road.Exchange) -> torch.Tensor:
    """Returns a device's weights after the first step of the road on four images, in one vector."""
    road._step.cache_clear()
    road.traced_step(rank, size, exchange, 2, 4)
    model = road._step(rank, size, 4).model
    return torch.nn.utils.parameters_to_vector(model.parameters()).detach().cpu()


def device_kind(rank: int, size: int) -> str:
    """Returns the kind of device whose tensors a process sends."""
    return own_device().type
