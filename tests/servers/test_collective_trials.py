"""Messages in a row, from which ways are predicted: how many there are, and that one of them counts."""

from __future__ import annotations

from itertools import count

import pytest
import torch

from dlperf.servers import collective_trials
from dlperf.servers.collective_trials import in_a_row, step


@pytest.fixture
def batches(monkeypatch):
    """What is sent and received by rank 1 of four, which are not there; a look at the clock takes a second."""
    seen, clock = [], count()
    for module, name, value in (
        (collective_trials.dist, "get_rank", lambda group=None: 1),
        (collective_trials.dist, "get_world_size", lambda group=None: 4),
        (collective_trials.dist, "barrier", lambda: None),
        (collective_trials.network, "process_group", lambda rank, size: None),
        (collective_trials, "send_and_receive", lambda batch, group: seen.append([peer for _, _, peer in batch])),
        (collective_trials, "perf_counter", lambda: float(next(clock))),
    ):
        monkeypatch.setattr(module, name, value)
    return seen


def test_as_many_messages_follow_each_other_as_in_half_of_a_ring(batches):
    step(torch.zeros(2))
    assert batches == [[0, 2]] * 3
    assert [in_a_row(n) for n in (1, 2, 4)] == [1, 1, 3]


def test_one_of_them_is_clocked_and_another_way_as_a_whole(batches):
    ways = {"step": step, "nothing": lambda tensor: None}
    assert collective_trials.clocked(1, 4, [8], 2, ways) == {("step", 8): [1 / 3] * 2, ("nothing", 8): [1.0] * 2}
