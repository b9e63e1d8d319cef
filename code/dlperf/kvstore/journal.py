"""Ranges on disk: each operation is put down before it is acknowledged, and from time to time the whole range.

A range has two files: a snapshot, and the operations since. A record that a crash has cut off ends the second. What
"put down" means is the configuration's ``sync``: the disk has it ("always": `os.fsync` once for all operations that
one turn of the server takes), or the system does, which outlives the process but not the power ("system").
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import msgspec

from dlperf.kvstore import wire
from dlperf.kvstore.items import Saved, load
from dlperf.kvstore.ranges import Range, Table
from dlperf.kvstore.replica import OPERATIONS, Frames

LIMIT = 2**26
"""With so many bytes of operations the range is put down anew."""

RECORD = struct.Struct("<IQ")
"""Before a record: the checksum of the rest, and its bytes."""


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
        self._files: dict[int, BinaryIO] = {}
        self._dirty: set[int] = set()
        self._ranges: dict[int, Range] = {}

    def append(self, number: int, index: int, frames: Frames) -> None:
        """Adds an operation to those since the snapshot."""
        file = self._files[number]
        for piece in _record([index.to_bytes(8, "little"), *frames]):
            file.write(piece)
        self._dirty.add(number)

    def replace(self, number: int, range_: Range) -> None:
        """Puts a range down anew: what was there stays until the new one is whole."""
        parts = [(key, part, *item.save()) for (key, part), item in range_.items.items()]
        head = Snapshot(range_.staleness, range_.table(), [(key, part, saved) for key, part, saved, _ in parts])
        write_whole(
            self._path(number, "snapshot"),
            [piece for frames in ([wire.encode(head)], *(f for *_, f in parts)) for piece in _record(frames)],
            self.always,
        )
        if number in self._files:
            self._files[number].close()
        self._files[number] = self._path(number, "log").open("wb")
        if self.always:
            _keep_names(self.folder)
        self._ranges[number] = range_

    def drop(self, number: int) -> None:
        """Removes a range."""
        if file := self._files.pop(number, None):
            file.close()
        for name in ("snapshot", "log"):  # in this order: a log without its snapshot is nothing
            self._path(number, name).unlink(missing_ok=True)
        self._dirty.discard(number)
        self._ranges.pop(number, None)

    def flush(self) -> None:
        """Returns when all that was appended is down; ranges with many operations are put down anew."""
        for number in self._dirty:
            file = self._files[number]
            file.flush()
            if self.always:
                os.fsync(file.fileno())
        for number in self._dirty:
            if self._files[number].tell() > LIMIT:
                self.replace(number, self._ranges[number])
        self._dirty.clear()

    def found(self) -> dict[int, Range]:
        """Returns the ranges that are there, as they were when last put down, and goes on from there."""
        ranges = {}
        for path in sorted(self.folder.glob("range-*.snapshot")):
            number = int(path.stem.removeprefix("range-"))
            ranges[number] = self._load(number)
        for number, range_ in ranges.items():
            self.replace(number, range_)
        return ranges

    def _load(self, number: int) -> Range:
        records = _records(self._path(number, "snapshot"))
        head = msgspec.msgpack.decode(next(records)[0], type=Snapshot)
        range_ = Range(len(head.table.clocks), head.staleness)
        range_.restore(head.table)
        for (key, part, saved), frames in zip(head.parts, records, strict=True):
            range_.items[key, part] = load(saved, frames)
        for index, *frames in _records(self._path(number, "log")):
            if int.from_bytes(index, "little") == range_.index + 1:  # older ones are in the snapshot
                range_.apply(wire.decode(frames[0], OPERATIONS), frames[1:])
        return range_

    def _path(self, number: int, kind: str) -> Path:
        return self.folder / f"range-{number}.{kind}"


def write_whole(path: Path, pieces: Frames, always: bool) -> None:
    """Writes a file that is there as a whole or not at all, even if the power goes: beside it first, then renamed."""
    partial = path.with_name(path.name + ".part")
    with partial.open("wb") as file:
        for piece in pieces:
            file.write(piece)
        file.flush()
        if always:
            os.fsync(file.fileno())
    partial.replace(path)
    if always:
        _keep_names(path.parent)


def _keep_names(folder: Path) -> None:
    """Returns when the disk has the names of a folder's files: a file whose name is lost is lost with it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _record(frames: Frames) -> list[bytes | memoryview]:
    """Returns the pieces of a record: its checksum and length, then each frame behind its own length."""
    pieces: list[bytes | memoryview] = []
    for frame in frames:
        pieces += [len(frame).to_bytes(8, "little"), frame]
    check = 0
    for piece in pieces:
        check = zlib.crc32(piece, check)
    return [RECORD.pack(check, sum(map(len, pieces))), *pieces]


def _records(path: Path) -> Iterator[list[bytes]]:
    """Yields the frames of each record that is whole, up to the first that is not."""
    if not path.exists():
        return
    with path.open("rb") as file:
        while len(head := file.read(RECORD.size)) == RECORD.size:
            check, length = RECORD.unpack(head)
            if length > path.stat().st_size:
                return
            body = file.read(length)
            if len(body) < length or zlib.crc32(body) != check:
                return
            frames, at = [], 0
            while at < length:
                size = int.from_bytes(body[at : at + 8], "little")
                frames.append(body[at + 8 : at + 8 + size])
                at += 8 + size
            yield frames
