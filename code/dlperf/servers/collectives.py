"""All-reduce by a tree, by halving and doubling, and by levels; all in place, and with the same bits on all ranks.

Sources: Thakur, Rabenseifner and Gropp, Optimization of collective communication operations in MPICH, IJHPCA 19
(2005), section 4; Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, JPDC 69
(2009). The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from dlperf.multigpu.reduce import AllReduce, send_and_receive
from dlperf.servers.ring import all_gather, reduce_scatter, ring


def tree(tensor: Tensor, group: Any = None) -> None:
    """Adds up a tensor on rank 0, in pairs of pairs; hands it back."""
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    flat = tensor.view(-1)
    space = torch.empty_like(flat)
    spans = [2**k for k in range((size - 1).bit_length())]
    for span in spans:
        if rank % (2 * span) == span:
            send_and_receive([(dist.isend, flat, rank - span)], group)
        elif rank % (2 * span) == 0 and rank + span < size:
            send_and_receive([(dist.irecv, space, rank + span)], group)
            flat += space
    for span in reversed(spans):
        if rank % (2 * span) == span:
            send_and_receive([(dist.irecv, flat, rank - span)], group)
        elif rank % (2 * span) == 0 and rank + span < size:
            send_and_receive([(dist.isend, flat, rank + span)], group)


def halving_doubling(tensor: Tensor, group: Any = None) -> None:
    """Adds up a tensor over all ranks; ranks too many hand theirs in."""
    rank, size = dist.get_rank(group), dist.get_world_size(group)
    flat = tensor.view(-1)
    core = 2 ** (size.bit_length() - 1)  # the most that a power of two has
    if rank >= core:
        send_and_receive([(dist.isend, flat, rank - core)], group)
        send_and_receive([(dist.irecv, flat, rank - core)], group)
        return
    if rank + core < size:
        theirs = torch.empty_like(flat)
        send_and_receive([(dist.irecv, theirs, rank + core)], group)
        flat += theirs
    among_a_power_of_two(flat, core, group)
    if rank + core < size:
        send_and_receive([(dist.isend, flat, rank + core)], group)


def among_a_power_of_two(flat: Tensor, size: int, group: Any) -> None:
    """Adds up a flat tensor over the first ``size`` ranks.

    Of what both hold, each of a pair adds up a half. The nearest ranks,
    between which much may pass, begin.
    """
    rank, part, halves = dist.get_rank(group), flat, []
    for bit in [2**k for k in range(size.bit_length() - 1)]:
        low, high = part.tensor_split(2)
        keep, give = (high, low) if rank & bit else (low, high)
        theirs, peer = torch.empty_like(keep), rank ^ bit
        messages = (dist.irecv, theirs, peer), (dist.isend, give, peer)
        send_and_receive(messages, group)
        keep += theirs
        halves.append((keep, give, peer))
        part = keep
    for kept, given, peer in reversed(halves):
        messages = (dist.irecv, given, peer), (dist.isend, kept, peer)
        send_and_receive(messages, group)


def hierarchical(tensor: Tensor, local: int, group: Any = None) -> None:
    """Adds up a tensor over hosts of ``local`` ranks each."""
    inside, across = levels(local, group)
    reduce_scatter(tensor, inside)
    share = tensor.view(-1).tensor_split(local)[dist.get_rank(inside)]
    ring(share, across)
    all_gather(tensor, inside)


def levels(local: int, group: Any = None) -> tuple[Any, Any]:
    """Returns two process groups: of this rank's host, and of the ranks at its place on each host.

    Ranks of a host follow one another, ``local`` on each. What is new is made by all ranks of the world, which call
    `hosts` alike; later calls are free. Raises ValueError where the ranks fill no such hosts, or where ``group`` is
    not that of the first ranks.
    """
    size = dist.get_world_size(group)
    if (ranks := dist.get_process_group_ranks(group)) != list(range(size)):
        raise ValueError(f"a group on hosts begins with the world's rank 0 and leaves none out, got ranks {ranks}")
    return hosts(local, size)


@cache
def hosts(local: int, size: int) -> tuple[Any, Any]:
    """Returns what `levels` does of the first ``size`` ranks; all ranks of the world call it alike.

    Not ``use_local_synchronization``: ranks that have been in different numbers of groups would wait for ever, since
    the new one's name depends on it. A rank that does not belong to one gets None.
    """
    if local < 1 or size % local:
        raise ValueError(f"{size} ranks on hosts of local={local} each: local must divide their number")
    inside = [list(range(first, first + local)) for first in range(0, size, local)]
    across = [list(ranks) for ranks in zip(*inside, strict=True)]
    return tuple(dist.new_subgroups_by_enumeration(each)[0] for each in (inside, across))


WAYS: dict[str, AllReduce] = {"ring": ring, "tree": tree, "halving-doubling": halving_doubling}
"""Those that take all ranks to be alike, by name."""
