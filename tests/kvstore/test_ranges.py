"""A range as a machine: rounds, staleness, sessions, and replicas that agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
import torch

from dlperf.kvstore import wire
from dlperf.kvstore.errors import Refused
from dlperf.kvstore.ranges import Again, Gap, Range
from dlperf.kvstore.updaters import Sum


def check(range_: Range, op: Any, payload: Sequence[Any]) -> None:
    """Raises what a head would find wrong with an operation."""
    range_.check_turn(op)
    range_.check(op, payload)


class Driver:
    """Numbers each worker's operations, and applies them to a range."""

    def __init__(self, workers: int, staleness: int | None) -> None:
        self.range, self.numbers = Range(workers, staleness), [0] * workers
        self.clocks = [0] * workers

    def do(self, kind: Any, worker: int, *fields: Any, frames: Any = (), incarnation: int = 1) -> None:
        self.numbers[worker] += 1
        op = kind(0, worker, incarnation, 0, self.numbers[worker], *fields)
        check(self.range, op, frames)
        self.range.apply(op, frames)

    def create(self, worker: int, length: int = 2) -> None:
        self.do(wire.Create, worker, "k", 0, "float32", (length,), Sum(), frames=[bytes(4 * length)])

    def push(self, worker: int, *values: float) -> None:
        self.do(wire.Push, worker, "k", 0, frames=[wire.to_bytes(torch.tensor(values, dtype=torch.float32))])

    def tick(self, worker: int) -> None:
        self.clocks[worker] += 1
        self.do(wire.Tick, worker, self.clocks[worker])

    @property
    def value(self) -> list[float]:
        return self.range.items["k", 0].value.tolist()


def test_a_round_of_bsp_counts_when_all_have_ended_it() -> None:
    it = Driver(2, 0)
    it.create(0)
    it.push(0, 1, 10)
    it.tick(0)
    it.push(1, 2, 20)
    assert it.value == [0, 0]
    assert it.range.ahead(1) == [1]
    it.tick(1)
    assert it.value == [3, 30]
    assert it.range.ahead(1) == []


def test_who_has_ended_a_round_cannot_push_to_the_next_before_the_others_have() -> None:
    it = Driver(2, 0)
    it.create(0)
    it.tick(0)
    with pytest.raises(Refused, match="worker 0 has ended round 0, and others have not"):
        it.push(0, 1, 1)


@pytest.mark.parametrize(("staleness", "late"), [(0, [1, 2, 3]), (1, [2, 3]), (2, [3]), (None, [])])
def test_a_worker_is_so_many_rounds_ahead_at_most(staleness: int | None, late: list[int]) -> None:
    it = Driver(2, staleness)
    assert [clock for clock in (1, 2, 3) if it.range.ahead(clock)] == late


def test_beyond_bsp_pushes_count_at_once() -> None:
    it = Driver(2, 1)
    it.create(0)
    it.push(0, 1, 2)
    assert it.value == [1, 2]


def test_rounds_do_not_wait_for_who_was_dropped_and_who_comes_back_is_where_the_others_are() -> None:
    it = Driver(3, 0)
    it.create(0)
    for worker in (0, 1):
        it.push(worker, 1, 1)
        it.tick(worker)
    assert it.value == [0, 0]
    it.range.apply(wire.Members((0, 1)), ())
    assert it.value == [2, 2]
    with pytest.raises(Refused, match="rounds go on without worker 2 until the scheduler hears of it") as refused:
        it.tick(2)
    assert refused.value.reason == "not ready"
    it.numbers[2] -= 1
    it.range.apply(wire.Members((0, 1, 2)), ())
    assert it.range.clocks == [1, 1, 1]


def test_a_tick_ends_a_round_whatever_the_worker_believes_and_with_0_none() -> None:
    it = Driver(2, 0)
    it.create(0)
    for _ in range(5):
        it.tick(0)
        it.tick(1)
    it.numbers[1] = 0
    it.do(wire.Tick, 1, 0, incarnation=2)  # a process that has been started again asks how far it has come
    assert it.range.clocks == [5, 5]
    it.push(0, 1, 1)
    it.do(wire.Tick, 1, 3, incarnation=2)  # one that was silent for long believes that this is round 3
    assert it.range.clocks == [5, 6]
    assert it.value == [0, 0]
    it.tick(0)
    assert it.value == [1, 1]
    it.do(wire.Tick, 1, 9, incarnation=2)  # in other ranges the worker had ended more
    assert it.range.clocks == [6, 9]


def test_an_operation_counts_once_and_in_order() -> None:
    it = Driver(1, None)
    it.create(0)
    op = wire.Push(0, 0, 1, 0, 2, "k", 0)
    frames = [wire.to_bytes(torch.ones(2))]
    check(it.range, op, frames)
    it.range.apply(op, frames)
    with pytest.raises(Again) as again:
        check(it.range, op, frames)
    assert again.value.index == 2
    with pytest.raises(Gap, match="operation 3 comes next, got 4") as gap:
        check(it.range, wire.Push(0, 0, 1, 0, 4, "k", 0), frames)
    assert gap.value.expected == 3


def test_a_worker_that_was_started_again_counts_from_one_and_its_former_self_no_more() -> None:
    it = Driver(1, None)
    it.create(0)
    frames = [wire.to_bytes(torch.ones(2))]
    new = wire.Push(0, 0, 2, 0, 1, "k", 0)
    check(it.range, new, frames)
    it.range.apply(new, frames)
    with pytest.raises(Refused, match="worker 0 has been started again"):
        check(it.range, wire.Push(0, 0, 1, 0, 2, "k", 0), frames)


@pytest.mark.parametrize(
    ("op", "why"),
    [
        (wire.Push(0, 1, 1, 0, 1, "other", 0), "there is no 'other', part 0: create it first"),
        (wire.Push(0, 7, 1, 0, 1, "k", 0), "workers are 0 to 1, got 7"),
        (wire.Create(0, 1, 1, 0, 1, "k", 0, "float32", (3,), Sum()), "cannot be"),
        (wire.Create(0, 1, 1, 0, 1, "new", 0, "float32", (3,), Sum()), "12 bytes, got 8"),
    ],
)
def test_what_is_refused_changes_nothing(op: Any, why: str) -> None:
    it = Driver(2, None)
    it.create(0)
    before = it.range.table()
    with pytest.raises(Refused, match=why):
        check(it.range, op, [bytes(8)])
    assert it.range.table() == before


def test_creating_again_keeps_what_is_there() -> None:
    it = Driver(2, None)
    it.create(0)
    it.push(0, 1, 2)
    it.create(1)
    assert it.value == [1, 2]
