"""Ranges on disk: whatever a crash cuts off, what was flushed is there, and nothing else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from dlperf.kvstore import files as files_
from dlperf.kvstore import journal, wire
from dlperf.kvstore.errors import StoreError
from dlperf.kvstore.journal import Journal
from dlperf.kvstore.ranges import Range
from dlperf.kvstore.replica import OPERATIONS
from dlperf.kvstore.updaters import Adam
from tests.kvstore.simulated import config
from tests.kvstore.test_ranges import check
from tests.processes import DEADLINE_S, wait_until


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
    assert wait_until(lambda: is_in_place(written))
    assert written.log.stat().st_size == 0
    assert found(written.journal.folder).index == 6


def is_in_place(written: Written) -> bool:
    """Returns whether no snapshot is being written any more; the turn that this is one of puts it in its place."""
    written.journal.flush()
    return not written.journal._writing


def files(written: Written) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in written.journal.folder.iterdir()}


def test_operations_go_on_while_the_range_is_put_down_anew(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    """And a crash at any moment of it loses nothing: before the thread is through, when it is, and after."""
    moments, go_on = [files(written)], threading.Event()
    write_down = files_.write_down

    def waits(*told: Any) -> None:
        assert go_on.wait(DEADLINE_S)
        write_down(*told)

    monkeypatch.setattr(files_, "write_down", waits)
    monkeypatch.setattr(journal, "LIMIT", written.log.stat().st_size)
    written.push()  # the sixth operation begins it
    moments.append(files(written))
    for _ in range(3):
        written.push()
        moments.append(files(written))
    kept = [wire.decode(frames[0], OPERATIONS).number for frames in written.journal.since(0, 4)]
    assert kept == [5, 6, 7, 8, 9]
    go_on.set()
    (writing,) = written.journal._writing.values()
    assert wait_until(lambda: writing.is_over)
    moments.append(files(written))
    assert is_in_place(written)
    moments.append(files(written))
    halfway = {**moments[-2], "range-0.snapshot": moments[-1]["range-0.snapshot"]}
    assert "range-0.before" in halfway
    for index, there in zip((5, 6, 7, 8, 9, 9, 9, 9), (*moments, halfway), strict=True):
        for path in written.journal.folder.iterdir():
            path.unlink()
        for name, content in there.items():
            (written.journal.folder / name).write_bytes(content)
        range_ = found(written.journal.folder)
        assert range_.index == index
        assert range_.items["k", 0].value.tolist() == written.values[index - 1]
        assert not list(written.journal.folder.glob("*.part"))


def test_a_range_that_is_dropped_or_replaced_meanwhile_stays_so(
    written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, write_down = threading.Event(), files_.write_down

    def waits(*told: Any) -> None:
        assert threading.current_thread() is threading.main_thread() or go_on.wait(DEADLINE_S)
        write_down(*told)

    monkeypatch.setattr(files_, "write_down", waits)
    monkeypatch.setattr(journal, "LIMIT", written.log.stat().st_size)
    written.push()
    (writing,) = written.journal._writing.values()
    written.push()
    written.journal.replace(0, written.range)
    go_on.set()
    assert wait_until(lambda: writing.is_over and not writing.path.exists())
    written.journal.flush()
    assert found(written.journal.folder).index == 7


def test_a_disk_that_is_full_ends_the_server_as_it_did(written: Written, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = threading.Event()

    def fails(*_: Any) -> None:
        assert begun.wait(DEADLINE_S)
        raise OSError("no space left on device")

    monkeypatch.setattr(files_, "write_down", fails)
    monkeypatch.setattr(journal, "LIMIT", written.log.stat().st_size)
    written.push()
    begun.set()
    with pytest.raises(OSError, match="no space left"):
        wait_until(lambda: is_in_place(written))


@pytest.mark.parametrize("kept", [0, 10, 0.5, -1])
def test_a_damaged_snapshot_is_named_with_what_to_do(written: Written, kept: float) -> None:
    path = written.journal.folder / "range-0.snapshot"
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * kept) if 0 < kept < 1 else int(kept)])
    with pytest.raises(StoreError, match=r"range-0.snapshot is damaged, .*move all range-0.* elsewhere") as error:
        Journal(written.journal.folder, always=False).found()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("staleness", "workers"), [(0, 1), (None, 2)])
def test_another_configuration_is_no_way_to_go_on(written: Written, staleness: int | None, workers: int) -> None:
    again = Journal(written.journal.folder, always=False)
    assert again.found(config(1, 1, staleness=None))[0].index == 5
    with pytest.raises(StoreError, match="was made with staleness None and 1 workers, and the configuration has"):
        again.found(config(1, workers, staleness=staleness))


def test_what_a_server_has_is_told_to_one_that_lacks_it(written: Written) -> None:
    again = Journal(written.journal.folder, always=False)
    again.found()
    assert [len(frames) for frames in again.since(0, 3)] == [2, 2]
    again.replace(0, written.range)
    assert again.since(0, 3) == []
    assert again.since(1, 3) == []


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
