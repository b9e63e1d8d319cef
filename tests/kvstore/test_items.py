"""A part on its server: bytes that were read stay as they are, and those that have come are never written to."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from dlperf.kvstore import wire
from dlperf.kvstore.items import Item, Spec
from dlperf.kvstore.updaters import Sum


def item(*numbers: float, shape: tuple[int, ...] = ()) -> Item:
    return Item(
        Spec("float32", shape or (len(numbers),), Sum()), wire.to_bytes(torch.tensor(numbers, dtype=torch.float32))
    )


def come(*numbers: float) -> tuple[bytes, Tensor]:
    """Returns bytes that cannot be written to without anybody's noticing, and what a server makes of them."""
    frame = bytes(wire.to_bytes(torch.tensor(numbers, dtype=torch.float32)))
    return frame, wire.from_bytes(frame, torch.float32, (len(numbers),))


def numbers(view: Any) -> list[float]:
    return torch.frombuffer(bytearray(view), dtype=torch.float32).tolist()


def test_what_was_read_stays_as_it_is_while_somebody_has_it():
    part = item(1, 2)
    first = part.read()
    part.update(torch.ones(2), None)
    part.update(torch.ones(2), None)
    assert numbers(first) == [1, 2]
    assert numbers(part.read()) == [3, 4]


def test_a_view_of_what_was_read_counts_as_well():
    part = item(1, 2)
    kept = memoryview(part.read())[4:]
    part.update(torch.ones(2), None)
    assert numbers(kept) == [2]


def test_rows_too_are_changed_in_a_copy_while_somebody_has_them_all():
    part = item(1, 2, 3, 4, shape=(2, 2))
    first = part.read()
    part.update(torch.ones(1, 2), torch.tensor([1]))
    assert (numbers(first), numbers(part.read())) == ([1, 2, 3, 4], [1, 2, 4, 5])


def test_nothing_is_copied_when_nobody_has_it_any_more_and_readers_share():
    part = item(1, 2)
    place = part.value.data_ptr()
    first, second = part.read(), part.read()
    assert first.obj is second.obj
    del first, second
    part.update(torch.ones(2), None)
    assert part.value.data_ptr() == place


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_round_adds_up_what_has_come_without_writing_to_it(count: int):
    part = item(0, 0)
    frames = [come(worker + 1.0, 10.0) for worker in range(count)]
    was = [frame[:] for frame, _ in frames]
    for _, pushed in frames:
        part.collect(pushed, None)
    part.end_round()
    assert numbers(part.read()) == [count * (count + 1) / 2, 10 * count]
    assert [frame for frame, _ in frames] == was


@pytest.mark.parametrize("all_first", [True, False])
def test_rows_and_all_of_a_part_may_be_pushed_in_one_round(all_first: bool):
    part = item(0, 0, 0, 0, shape=(2, 2))
    frame = bytes(wire.to_bytes(torch.ones(2, 2)))
    pushes = [(wire.from_bytes(frame, torch.float32, (2, 2)), None), (torch.full((1, 2), 5.0), torch.tensor([1]))]
    for pushed, rows in pushes if all_first else reversed(pushes):
        part.collect(pushed, rows)
    part.end_round()
    assert part.value.tolist() == [[1, 1], [6, 6]]
    assert numbers(frame) == [1, 1, 1, 1]
