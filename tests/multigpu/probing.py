"""What the tests of the probe have the hosts of a network do, in a module that a host imports quickly."""

from __future__ import annotations

import torch

from dlperf.multigpu.agreement import Disagreement, check_over_group, checksum
from dlperf.multigpu.all_reduce_times import data_parallel_step, local, train_once


def compare_after_a_step(rank: int, size: int) -> list[str]:
    """Returns what a comparison says after a step, after rank 1 alters a parameter, and after a step without DDP."""
    step = data_parallel_step(rank, torch.device("cpu"), batch=1)
    found = [comparison(train_once(step))]
    parameters = list(step.model.parameters())
    if rank == 1:
        with torch.no_grad():
            parameters[0].view(-1)[0] += 1
    found.append(comparison({"parameters": checksum(parameters)}))
    fresh = data_parallel_step(rank, torch.device("cpu"), batch=1)  # one that has learned its image learns no more
    local(fresh)()
    return [*found, comparison({"last": checksum(list(fresh.model.parameters())[-1:])})]


def comparison(report: dict[str, object]) -> str:
    """Returns in what rank 1 differs, or nothing."""
    try:
        check_over_group(report)
    except Disagreement as error:
        return str(error)
    return ""
