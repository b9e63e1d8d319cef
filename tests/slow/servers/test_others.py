"""Adding up through the store, gloo and RPC: each way's sum is right in every round, which `clocked` asks for."""

from __future__ import annotations

import pytest
import torch

from dlperf.servers import others
from dlperf.workers import WorkerError

SIZE = 2**20


def test_every_way_adds_up_in_turn_with_the_others():
    ways = [*others.BY_TCP, *others.NEARBY]
    found = others.measured(SIZE, repeats=2, ways=ways)
    assert list(found) == ways
    assert all(len(seconds.samples) == 2 and min(seconds.samples) > 0 for seconds in found.values())
    assert len({seconds.pairing_id for seconds in found.values()}) == 1


def test_ways_that_are_left_out_are_not_started():
    assert list(others.measured(SIZE, repeats=1, ways=[others.GLOO])) == [others.GLOO]


def test_a_way_that_is_none_is_refused():
    with pytest.raises(ValueError, match=r"ways are the store, 1 server, .*, RPC, shared memory; got pigeons"):
        others.measured(SIZE, ways=[others.GLOO, "pigeons"])


def wrong(rank: int) -> None:
    """Has a worker's all-reduce forget the other's tensor."""
    others._ways[others.GLOO] = lambda mine: mine


def wrong_clocked(rank: int, way: str, size: int) -> float:
    wrong(rank)
    return CLOCKED(rank, way, size)


CLOCKED = others.clocked


def test_a_wrong_sum_is_an_error(monkeypatch):
    monkeypatch.setattr(others, "clocked", wrong_clocked)
    with pytest.raises(WorkerError, match=r"ArithmeticError: all-reduce by gloo: .* 2 workers is 2, got \[1.0\]"):
        others.measured(SIZE, repeats=1, ways=[others.GLOO])


def test_rpc_adds_up_when_both_have_come():
    first, second = others.add.__wrapped__(torch.ones(3)), others.add.__wrapped__(torch.full((3,), 2.0))
    assert first.wait().tolist() == second.wait().tolist() == [3, 3, 3]
