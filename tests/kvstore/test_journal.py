"""Ranges on disk: whatever a crash cuts off, what was flushed is there, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from dlperf.kvstore import journal, wire
from dlperf.kvstore.journal import Journal
from dlperf.kvstore.ranges import Range
from dlperf.kvstore.updaters import Adam
from tests.kvstore.test_ranges import check


class Written:
    """A range whose operations are put down, and the values after each."""

    def __init__(self, folder: Path, staleness: int | None = None) -> None:
        self.journal = Journal(folder, always=False)
        self.range = Range(1, staleness)
        self.journal.replace(0, self.range)
        self.values: list[list[float]] = []
        self.ends: list[int] = []
        self.do(wire.Create(0, 0, 1, 0, 1, "k", 0, "float32", (3,), Adam(0.1)), wire.to_bytes(torch.zeros(3)))

    def do(self, op: Any, *frames: Any) -> None:
        check(self.range, op, frames)
        self.range.apply(op, frames)
        self.journal.append(0, self.range.index, [wire.encode(op), *frames])
        self.journal.flush()
        self.ends.append(self.log.stat().st_size)
        self.values.append(self.range.items["k", 0].value.tolist())

    def push(self) -> None:
        number = self.range.index + 1
        self.do(wire.Push(0, 0, 1, 0, number, "k", 0), wire.to_bytes(torch.full((3,), float(number))))

    @property
    def log(self) -> Path:
        return self.journal.folder / "range-0.log"


@pytest.fixture
def written(tmp_path: Path) -> Iterator[Written]:
    made = Written(tmp_path / "disk")
    for _ in range(4):
        made.push()
    yield made
    made.journal.drop(0)


def found(folder: Path) -> Range:
    (range_,) = Journal(folder, always=False).found().values()
    return range_


def test_a_log_that_is_cut_off_anywhere_has_all_that_was_whole_before(written: Written) -> None:
    whole = written.log.read_bytes()
    for cut in range(0, len(whole) + 1, 3):
        written.log.write_bytes(whole[:cut])
        snapshot = (written.journal.folder / "range-0.snapshot").read_bytes()
        range_ = found(written.journal.folder)
        complete = sum(end <= cut for end in written.ends)
        assert range_.index == complete
        if complete:
            assert range_.items["k", 0].value.tolist() == written.values[complete - 1]
        (written.journal.folder / "range-0.snapshot").write_bytes(snapshot)


def test_a_bit_that_turned_ends_the_log(written: Written) -> None:
    whole = bytearray(written.log.read_bytes())
    whole[written.ends[1] + 20] ^= 4
    written.log.write_bytes(whole)
    assert found(written.journal.folder).index == 2


def test_a_crash_between_a_new_snapshot_and_a_new_log_counts_nothing_twice(written: Written) -> None:
    old = written.log.read_bytes()
    written.journal.replace(0, written.range)
    written.log.write_bytes(old)
    range_ = found(written.journal.folder)
    assert range_.index == 5
    assert range_.items["k", 0].value.tolist() == written.values[-1]


def test_what_was_found_goes_on(written: Written) -> None:
    other = Journal(written.journal.folder, always=True)
    range_ = other.found()[0]
    op, frames = wire.Push(0, 0, 1, 0, 6, "k", 0), [wire.to_bytes(torch.ones(3))]
    for each in (written.range, range_):
        check(each, op, frames)
        each.apply(op, frames)
    other.append(0, range_.index, [wire.encode(op), *frames])
    other.flush()
    assert torch.equal(written.range.items["k", 0].value, range_.items["k", 0].value)
    assert found(written.journal.folder).index == 6


def test_a_long_log_is_put_down_anew(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "LIMIT", written.log.stat().st_size)
    written.push()
    assert written.log.stat().st_size == 0
    assert found(written.journal.folder).index == 6


def test_what_is_dropped_is_gone(written: Written) -> None:
    written.journal.drop(0)
    assert Journal(written.journal.folder, always=False).found() == {}


def test_a_round_that_is_not_over_is_kept(tmp_path: Path) -> None:
    made = Written(tmp_path / "disk", staleness=0)
    made.push()
    made.journal.replace(0, made.range)
    range_ = found(made.journal.folder)
    op = wire.Tick(0, 0, 1, 0, 3, 1)
    for each in (made.range, range_):
        check(each, op, ())
        each.apply(op, ())
    assert torch.equal(made.range.items["k", 0].value, range_.items["k", 0].value)
    assert made.range.items["k", 0].steps == 1
