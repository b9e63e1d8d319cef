"""A range on its way to a server that joins: a few parts at a time, while operations on it go on.

Operations and parts come in one order. So an operation that finds its part there came after the copy of that part,
and counts; one that does not, came before, and is in the part when it comes. Where a part or an operation was lost on
the way, the next part does not fit; then both are sent again, from where the server that joins is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dlperf.kvstore import peers
from dlperf.kvstore.items import load
from dlperf.kvstore.ranges import Range

AHEAD = 4
"""So many parts of a copy are under way at a time."""


class Outgoing:
    """The copy ``number`` that a tail makes; ``tell(kind, *fields, frames)`` tells the server that joins.

    ``has`` is how many operations that one has. It has `everything` when it has said so of the end, too.
    """

    def __init__(self, number: int, range_: Range, tell: Callable[..., None]) -> None:
        self.number, self._range, self._tell = number, range_, tell
        self.has = range_.index
        self._keys = list(range_.items)
        self._sent = self._got = 0
        self._ended, self._seen = False, -1
        tell(peers.Begin, number, frames=peers.table_to_frames(range_.table()))
        self._go_on()

    def got(self, message: peers.Got) -> None:
        """The server that joins has so many parts, of this copy or of one that was given up."""
        if message.copy == self.number:
            self._got = max(self._got, message.number)
            self._go_on()

    def is_past(self, message: peers.Have) -> bool:
        """Returns whether the server that joins has told of more than this since: the message came late, or twice."""
        return self._got > 0 if message.nothing else message.index < self.has

    def again(self, parts: int) -> None:
        """The server that joins has so many parts, and what was sent behind them did not fit: it is sent again."""
        self._got = max(self._got, parts)
        if not self.everything:
            self._sent, self._ended = self._got, False
            self._go_on()

    def is_there(self) -> None:
        """The server that joins has all parts, though its word of the last may have been lost."""
        self._sent, self._got, self._ended = len(self._keys), len(self._keys) + 1, True

    def _go_on(self) -> None:
        while self._sent < min(len(self._keys), self._got + AHEAD):
            key, part = self._keys[self._sent]
            saved, frames = self._range.items[key, part].save()
            self._sent += 1
            self._tell(peers.Part, self.number, self._sent, self._range.index, key, part, saved, frames=frames)
        if self._sent >= len(self._keys) and not self._ended:
            self._ended = True
            self._tell(peers.End, self.number, len(self._keys))

    @property
    def everything(self) -> bool:
        return self._got > len(self._keys)

    def is_stuck(self) -> bool:
        """Returns whether nothing has come of it since this was last asked."""
        stuck, self._seen = self._got == self._seen and not self.everything, self._got
        return stuck


class Incoming:
    """The copy that a server which joins is receiving; ``range`` is partial until it has come to its end."""

    def __init__(self, begin: peers.Begin, frames: Sequence[Any], staleness: int | None) -> None:
        self.number, self.parts = begin.copy, 0
        table = peers.table_from_frames(frames)
        self.range = Range(len(table.clocks), staleness)
        self.range.restore(table)
        self.range.partial = True

    def take(self, message: peers.Part | peers.End, frames: Sequence[Any]) -> bool:
        """Takes a part or the end, if it is the next; returns whether it is there now, and nothing lost before it."""
        if isinstance(message, peers.Part) and message.number <= self.parts:
            return True  # it came before
        if isinstance(message, peers.Part):
            if (message.number, message.index) != (self.parts + 1, self.range.index):
                return False
            self.range.items[message.key, message.part] = load(message.saved, frames)
        elif not self.range.partial:
            return True
        elif message.number != self.parts:
            return False
        else:
            self.range.partial = False
        self.parts += 1
        return True
