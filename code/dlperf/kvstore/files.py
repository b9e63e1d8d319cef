"""Files of records: each is there as a whole or not at all, whatever a crash cuts off."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, count
from pathlib import Path
from threading import Thread
from typing import Any

from dlperf.kvstore.replica import Frames

RECORD = struct.Struct("<IQ")
"""Before a record: the checksum of the rest, and its bytes."""


def write_whole(path: Path, pieces: Iterable[Any], always: bool) -> None:
    """Writes a file that is there as a whole or not at all, even if the power goes: beside it first, then renamed."""
    partial = path.with_name(path.name + ".part")
    write_down(partial, pieces, always)
    partial.replace(path)
    if always:
        keep_names(path.parent)


def write_down(path: Path, pieces: Iterable[Any], always: bool) -> None:
    """Writes a file, and returns when the disk has it, or the system."""
    with path.open("wb") as file:
        for piece in pieces:
            file.write(piece)
        file.flush()
        if always:
            os.fsync(file.fileno())


def keep_names(folder: Path) -> None:
    """Returns when the disk has the names of a folder's files: a file whose name is lost is lost with it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def record(frames: Frames) -> list[bytes | memoryview]:
    """Returns the pieces of a record: its checksum and length, then each frame behind its own length."""
    pieces: list[bytes | memoryview] = []
    for frame in frames:
        pieces += [len(frame).to_bytes(8, "little"), frame]
    check = 0
    for piece in pieces:
        check = zlib.crc32(piece, check)
    return [RECORD.pack(check, sum(map(len, pieces))), *pieces]


def records(path: Path) -> Iterator[tuple[list[bytes], int]]:
    """Yields the frames of each record that is whole, up to the first that is not, and where it ends."""
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
            yield frames, file.tell()


class Writing:
    """A snapshot that a thread writes into a file of its own, of a range when it had ``index`` operations.

    The thread touches no other file: whoever began it puts this one in its place, or gives it up.
    """

    numbers = count()

    def __init__(self, path: Path, frames: Sequence[Frames], index: int, always: bool) -> None:
        self.path, self.index = path.with_name(f"{path.name}.{next(self.numbers)}.part"), index
        self._error: OSError | None = None
        self._over = self._given_up = False
        Thread(target=self._write, args=(frames, always), daemon=True).start()

    def _write(self, frames: Sequence[Frames], always: bool) -> None:
        try:
            write_down(self.path, chain.from_iterable(map(record, frames)), always)
        except OSError as error:
            self._error = error
        self._over = True
        if self._given_up:
            self.path.unlink(missing_ok=True)

    @property
    def is_over(self) -> bool:
        """Whether it is written; raises OSError where that failed."""
        if self._over and self._error is not None:
            raise self._error
        return self._over

    def give_up(self) -> None:
        """Has the file removed, now or when the thread is through with it."""
        self._given_up = True
        if self._over:
            self.path.unlink(missing_ok=True)
