"""Ranges on disk: each operation is put down before it is acknowledged, and from time to time the whole range.

A range has a snapshot, and a log of the operations since. A record that a crash has cut off ends the log. A new
snapshot is written by a thread, from a copy of the range: meanwhile the log goes on in a second file, and the first
one stays, as ``.before``, until the new snapshot has taken the place of the old. What "put down" means is the
configuration's ``sync``: the disk has it ("always": `os.fsync` once for all operations that one turn of the server
takes), or the system does, which outlives the process but not the power ("system").
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import BinaryIO

import msgspec

from dlperf.kvstore import wire
from dlperf.kvstore.config import Config
from dlperf.kvstore.errors import StoreError
from dlperf.kvstore.files import Writing, keep_names, record, records, write_whole
from dlperf.kvstore.items import Item, Saved, load
from dlperf.kvstore.ranges import Range, Table
from dlperf.kvstore.replica import OPERATIONS, Frames

LIMIT = 2**26
"""With so many bytes of operations the range is put down anew."""


class Snapshot(msgspec.Struct, array_like=True):
    """The first record of a snapshot: the staleness that it was made with, the table, and its parts."""

    staleness: int | None
    table: Table
    parts: list[tuple[str, int, Saved]]


class Journal:
    """A server's folder. ``always`` is whether to wait for the disk."""

    def __init__(self, folder: Path, always: bool) -> None:
        self.folder, self.always = folder, always
        folder.mkdir(parents=True, exist_ok=True)
        for partial in folder.glob("*.part"):  # of a process that ended while it wrote
            partial.unlink()
        self._files: dict[int, BinaryIO] = {}
        self._dirty: set[int] = set()
        self._ranges: dict[int, Range] = {}
        self._from: dict[int, int] = {}  # so many operations does the snapshot have
        self._writing: dict[int, Writing] = {}

    def append(self, number: int, index: int, frames: Frames) -> None:
        """Adds an operation to those since the snapshot."""
        file = self._files[number]
        for piece in record([index.to_bytes(8, "little"), *frames]):
            file.write(piece)
        self._dirty.add(number)

    def replace(self, number: int, range_: Range) -> None:
        """Puts a range down anew, and returns when it is: what was there stays until the new one is whole."""
        self._give_up(number)
        pieces = chain.from_iterable(map(record, _records_of(range_)))
        write_whole(self._path(number, "snapshot"), pieces, self.always)
        if number in self._files:
            self._files[number].close()
        self._files[number] = self._path(number, "log").open("wb")
        self._path(number, "before").unlink(missing_ok=True)
        if self.always:
            keep_names(self.folder)
        self._ranges[number], self._from[number] = range_, range_.index

    def drop(self, number: int) -> None:
        """Removes a range."""
        self._give_up(number)
        if file := self._files.pop(number, None):
            file.close()
        for name in ("snapshot", "log", "before"):  # in this order: a log without its snapshot is nothing
            self._path(number, name).unlink(missing_ok=True)
        self._dirty.discard(number)
        self._ranges.pop(number, None)

    def flush(self) -> None:
        """Returns when all that was appended is down; begins to put down anew what has many operations."""
        for number in self._dirty:
            file = self._files[number]
            file.flush()
            if self.always:
                os.fsync(file.fileno())
        for number in self._dirty - self._writing.keys():
            if self._files[number].tell() > LIMIT:
                self._begin(number)
        self._dirty.clear()
        for number in [number for number, each in self._writing.items() if each.is_over]:
            self._end(number)

    def _begin(self, number: int) -> None:
        """Has a thread write a snapshot; what comes from now on is in a new log."""
        range_, path = self._ranges[number], self._path(number, "snapshot")
        self._files[number].close()
        self._path(number, "log").replace(self._path(number, "before"))
        self._files[number] = self._path(number, "log").open("wb")
        if self.always:
            keep_names(self.folder)
        self._writing[number] = Writing(path, _records_of(range_), range_.index, self.always)

    def _end(self, number: int) -> None:
        """Puts the snapshot that a thread has written in the place of the old one."""
        written = self._writing.pop(number)
        written.path.replace(self._path(number, "snapshot"))
        if self.always:
            keep_names(self.folder)
        self._path(number, "before").unlink()
        self._from[number] = written.index

    def _give_up(self, number: int) -> None:
        """Forgets what a thread is writing of a range, if any does."""
        if written := self._writing.pop(number, None):
            written.give_up()

    def since(self, number: int, index: int) -> list[Frames]:
        """Returns the operations behind the ``index``-th, or nothing where not all of them are there."""
        if number not in self._files or index < self._from[number]:
            return []
        self._files[number].flush()
        return [frames for at, frames, _ in self._log(number) if at > index]

    def found(self, config: Config | None = None) -> dict[int, Range]:
        """Returns the ranges that are there, as they were when last put down, and goes on from there.

        Raises `StoreError` where a file is damaged, or was made with another staleness or number of workers than a
        ``config`` has.
        """
        ranges = {}
        for path in sorted(self.folder.glob("range-*.snapshot")):
            number = int(path.stem.removeprefix("range-"))
            ranges[number] = self._load(number, config)
        for number, range_ in ranges.items():
            if self._path(number, "before").exists():
                self.replace(number, range_)
            else:
                self._go_on(number, range_)
        return ranges

    def _load(self, number: int, config: Config | None) -> Range:
        path = self._path(number, "snapshot")
        try:
            head, items = _read_snapshot(path)
        except ValueError as error:
            raise StoreError(
                f"{path} is damaged, {error}: move all range-{number}.* elsewhere and start again; then the other "
                "servers of the range fill this one up"
            ) from None
        if config is not None:
            _check(path, head, config)
        range_ = Range(len(head.table.clocks), head.staleness)
        range_.restore(head.table)
        range_.items, self._from[number] = items, range_.index
        for index, frames, _ in self._log(number):
            if index == range_.index + 1:  # older ones are in the snapshot
                range_.apply(wire.decode(frames[0], OPERATIONS), frames[1:])
        return range_

    def _go_on(self, number: int, range_: Range) -> None:
        """Has further operations added behind the last whole one of the log."""
        path = self._path(number, "log")
        path.touch()
        end = max((end for *_, end in self._log(number)), default=0)
        file = self._files[number] = path.open("r+b")
        file.truncate(end)
        file.seek(end)
        if self.always:
            os.fsync(file.fileno())
            keep_names(self.folder)
        self._ranges[number] = range_

    def _log(self, number: int) -> Iterator[tuple[int, list[bytes], int]]:
        """Yields all operations that are put down: place, frames, and where the record ends in its file."""
        for kind in ("before", "log"):
            for (index, *frames), end in records(self._path(number, kind)):
                yield int.from_bytes(index, "little"), frames, end

    def _path(self, number: int, kind: str) -> Path:
        return self.folder / f"range-{number}.{kind}"


def _records_of(range_: Range) -> list[Frames]:
    """Returns what a snapshot consists of: copies, which stay as they are when the range goes on."""
    parts = [(key, part, *item.save()) for (key, part), item in range_.items.items()]
    head = Snapshot(range_.staleness, range_.table(), [(key, part, saved) for key, part, saved, _ in parts])
    return [[wire.encode(head)], *(frames for *_, frames in parts)]


def _read_snapshot(path: Path) -> tuple[Snapshot, dict[tuple[str, int], Item]]:
    """Returns a snapshot's head and parts; raises ValueError with what is wrong with it."""
    found = [frames for frames, _ in records(path)]
    if not found:
        raise ValueError("its first record is not whole")
    try:
        head = msgspec.msgpack.decode(found[0][0], type=Snapshot)
        if len(found) - 1 != len(head.parts):
            raise ValueError(f"{len(found) - 1} of {len(head.parts)} parts are whole")
        parts = zip(head.parts, found[1:], strict=True)
        return head, {(key, part): load(saved, frames) for (key, part, saved), frames in parts}
    except (msgspec.MsgspecError, StoreError) as error:
        raise ValueError(str(error)) from None


def _check(path: Path, head: Snapshot, config: Config) -> None:
    had, has = (head.staleness, len(head.table.clocks)), (config.staleness, config.workers)
    if had != has:
        raise StoreError(
            f"{path} was made with staleness {had[0]} and {had[1]} workers, and the configuration has {has[0]} and "
            f"{has[1]}: start with what it was made with, or give the servers and the scheduler an empty folder"
        )
