"""Agreement: what must be the same on all ranks, compared with what rank 0 has, and an error that names who differs.

Before the ranks have a process group they compare over its store, afterwards over the group.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any

import torch.distributed as dist
from torch import Tensor


class Disagreement(RuntimeError):
    """Ranks differ in what must be the same; the message names them, their values, and those of rank 0."""


def disagreements(reports: Mapping[int, Mapping[str, object]]) -> list[str]:
    """Returns where reports, by rank, differ from that of rank 0: a sentence for each rank and value."""
    first = reports[0]
    return [
        f"rank {rank} has {name} {report.get(name)!r}, but rank 0 has {first.get(name)!r}"
        for rank, report in sorted(reports.items())
        for name in {**first, **report}
        if report.get(name) != first.get(name)
    ]


def check(reports: Mapping[int, Mapping[str, object]]) -> None:
    """Raises `Disagreement` where a report differs from that of rank 0."""
    if found := disagreements(reports):
        raise Disagreement("; ".join(found))


def check_over_store(store: dist.Store, rank: int, world_size: int, report: Mapping[str, object]) -> None:
    """Raises `Disagreement` if the report of a rank differs from that of rank 0; needs no process group.

    Each report is compared as it comes: ranks that differ in ``world_size`` would wait for others that never come.
    """
    store.set(f"report-{rank}", json.dumps(report))
    reports = {rank: report}
    for other in range(world_size):
        reports[other] = json.loads(store.get(f"report-{other}"))
        check(reports)


def check_over_group(report: Mapping[str, object]) -> None:
    """Raises `Disagreement` on all ranks of the process group if the report of one differs from that of rank 0."""
    reports: list[Any] = [None] * dist.get_world_size()
    dist.all_gather_object(reports, report)
    check(dict(enumerate(reports)))


def checksum(tensors: Iterable[Tensor]) -> str:
    """Returns sixteen hexadecimal digits that are the same only for tensors that are equal to the last bit."""
    digest = hashlib.sha256()
    for tensor in tensors:
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]
