"""One server's replica of one range, and its seat in the range's chain: chain replication, without the network.

Operations enter at the head, go from each server to the next, and count when the tail has them; reads are answered
by the tail. Messages may be lost, come twice or come late: whoever finds a gap says what it has, and its predecessor
goes on from there. Nothing is believed that was sent in another epoch.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from dlperf.kvstore import peers, wire
from dlperf.kvstore.copying import Incoming, Outgoing
from dlperf.kvstore.errors import Refused
from dlperf.kvstore.membership import NOBODY, Seat, View, seat
from dlperf.kvstore.ranges import Again, Range
from dlperf.kvstore.waiting import Waiting

Frames = Sequence[Any]
"""A header's bytes, and those of tensors."""

Outbox = Callable[[Any, wire.Message, Frames], None]
"""Sends a message with frames to a server, by its number, or to a worker, by its address."""

OPERATIONS = wire.decoder(wire.Operation)


LONGEST = 256
"""So many operations are kept for a server that joins and falls behind; then what it has is given up."""


PASSING = ("gap", "superseded", "not ready")
"""Refusals that take no number: it is not the operation's turn, or it may be sent again as it is."""

DETAIL = 200
"""So many letters of what was wrong are remembered."""


class Keeper(Protocol):
    """What puts operations down, so that they outlive the process; all of it before the next message is sent."""

    def append(self, number: int, index: int, frames: Frames) -> None:
        """An operation was applied as the ``index``-th."""

    def replace(self, number: int, range_: Range) -> None:
        """The range is now this."""

    def drop(self, number: int) -> None:
        """The range is held no more."""

    def since(self, number: int, index: int) -> list[Frames]:
        """Returns the operations behind the ``index``-th, or nothing where not all of them are there."""


@dataclass
class Entry:
    """An operation that the next server may not have: its place, its frames, and the range's slowest clock after it."""

    index: int
    frames: Frames
    slowest_after: int


@dataclass
class Replica:
    """A replica of range ``number`` on server ``me``, for so many ``workers``; the rest is in `Config`."""

    me: int
    number: int
    send: Outbox
    keeper: Keeper
    workers: int
    staleness: int | None = None
    on_lost: str = "wait"
    range: Range | None = None
    view: View | None = None
    seat: Seat = field(default_factory=Seat)
    committed: int = 0
    """So many operations has all of the chain from here on."""
    log: deque[Entry] = field(default_factory=deque)
    floor: int | None = 0
    """So many operations had the server before this one in this epoch; None until it has said so."""
    compared: bool = False
    """Whether the next server has said in this epoch what it has."""
    quiet: bool = False
    """Whether the next server has said nothing since this was last looked at, though it ought to."""
    is_beyond_help: bool = False
    """Whether the next server of the chain lacks what nobody can send it: only as one that joins can it be filled."""
    outgoing: Outgoing | None = None
    incoming: Incoming | None = None
    copies: int = 0
    duplicates: Counter[str] = field(default_factory=Counter)
    """So many operations that were applied came again, by their kind, and did not count twice."""

    def __post_init__(self) -> None:
        self.waiting = Waiting(self)

    def install(self, view: View) -> None:
        """Takes the seat that a view gives: what was acknowledged stays so, and neighbours compare what they have."""
        self.view, self.seat = view, seat(view, self.number, self.me)
        self.outgoing = self.incoming = None
        self.compared = self.is_beyond_help = False
        self.waiting.clear()
        if self.seat.place < 0 or (self.range is not None and self.range.partial):
            self._forget()
        elif self.range is None and view.first[self.me] == view.runs[self.me]:
            self.range = Range(self.workers, self.staleness)
            self.keeper.replace(self.number, self.range)
        self.floor = 0 if self.seat.place == 0 else None
        if self.range is None:
            return
        if self.seat.is_tail:
            self._commit(self.range.index)
        self.sync()
        if self.seat.place == 0 and tuple(self.range.active) != view.active:
            members = wire.Members(view.active)
            self._append(members, [wire.encode(members)])

    def _forget(self) -> None:
        """What others have acknowledged since may lack here, and what is here may never have been."""
        if self.range is not None:
            self.keeper.drop(self.number)
        self.range = None
        self.log.clear()
        self.committed = 0

    # What workers ask.

    def request(self, address: Any, op: Any, frames: Frames) -> None:
        """Applies a worker's operation as the next one, or nothing where it is refused. It is answered later.

        Also what is refused takes its number, in all of the chain. Else a copy of it that was under way could be
        applied after all, and what the worker sends next under the same number would pass for it. Raises `Refused`
        where it is not the operation's turn, or not yet time.
        """
        if self.range is None or self.seat.place != 0:
            raise Refused("epoch", f"range {self.number} is not written here")
        try:
            self.range.check_turn(op)
            self.range.check(op, frames[1:])
        except Again as again:
            if self.range.why_refused(op) is None:
                self.duplicates[type(op).__name__.lower()] += 1
            self.waiting.answer(again.index, address, op)
            return
        except Refused as refused:
            if refused.reason in PASSING or op.worker >= self.workers:
                raise
            fields = op.epoch, op.worker, op.incarnation, op.range, op.number
            op = wire.Nothing(*fields, refused.reason, refused.detail[:DETAIL])
            frames = [wire.encode(op)]
        self.waiting.answer(self.range.index + 1, address, op)
        self._append(op, frames)

    def pull(self, address: Any, op: wire.Pull, rows: Frames) -> None:
        """Answers a worker's read; raises `Refused` where it cannot."""
        if self.range is None or not self.seat.is_tail:
            raise Refused("epoch", f"range {self.number} is not read here")
        if self.floor is None or self.range.index < self.floor:
            raise Refused("not ready", f"range {self.number} is not yet as the server before this one has it")
        if self.is_followed and self.range.index > self.committed:
            raise Refused("not ready", f"range {self.number} has operations that the server which joins has not")
        if len(rows) > 1:
            raise Refused("malformed", f"a pull has at most one frame, of row numbers; got {len(rows)}")
        self.send(address, wire.Value(self.number, op.number), [self.range.find(op).read(*rows)])

    # The chain.

    def _append(self, op: wire.Operation, frames: Frames) -> None:
        assert self.range is not None
        self.range.apply(op, frames[1:])
        index = self.range.index
        if not self.range.partial:
            self.keeper.append(self.number, index, frames)
        if self.seat.place < 0:  # it joins
            self._tell(self.seat.before, peers.Ack, index)
        elif not self.seat.is_tail or self.outgoing:
            self.log.append(Entry(index, frames, self.range.slowest))  # for who joins behind a tail, too
            if self.outgoing and not self.outgoing.everything and len(self.log) > LONGEST:
                self.outgoing = None  # who joins takes too little: a new copy begins when it says what it has
                self.log.clear()
            self._tell(self.seat.next, peers.Forward, index, frames=frames)
        if self.seat.is_tail and not self.is_followed:
            self._commit(index)

    def _commit(self, index: int) -> None:
        """The chain from here on has all operations up to ``index``."""
        assert self.range is not None
        if self.seat.before != NOBODY:
            self._tell(self.seat.before, peers.Ack, index)
        if index == self.range.index:
            slowest = self.range.slowest
        else:
            slowest = next(
                (e.slowest_after for e in reversed(self.log) if e.index <= index), self.waiting.slowest_counted
            )
        first, self.committed = self.committed + 1, max(self.committed, index)
        self._trim()
        self.waiting.counted(range(first, index + 1), slowest)

    def _trim(self) -> None:
        kept = self.committed if self.outgoing is None else min(self.committed, self.outgoing.has)
        while self.log and self.log[0].index <= kept:
            self.log.popleft()

    def receive(self, sender: int, message: Any, frames: Frames) -> None:
        """Takes what another server of the chain says in this epoch."""
        if sender == self.seat.next and (self.compared or isinstance(message, peers.Have)):
            self.compared, self.quiet = True, False
        match message:
            case peers.Forward() if sender == self.seat.before and self.floor is not None:
                self._forwarded(message, frames)
            case peers.Ack() if sender == self.seat.next and self.range is not None:
                self._acknowledged(message.index)
            case peers.Sync() if sender == self.seat.before:
                self._compare(message)
            case peers.Have() if sender == self.seat.next and self.range is not None:
                self._bring_up_to_date(message)
            case peers.Begin() | peers.Part() | peers.End() if sender == self.seat.before and self.seat.place < 0:
                self._copied(message, frames)
            case peers.Got() if sender == self.seat.next and self.outgoing:
                self.outgoing.got(message)

    def _forwarded(self, message: peers.Forward, frames: Frames) -> None:
        if self.range is None or message.index > self.range.index + 1:
            self._tell_what_is_here(self.incoming.number if self.incoming else 0)
        elif message.index == self.range.index + 1:
            if not frames:
                raise Refused("malformed", "an operation was to follow")
            self._append(wire.decode(frames[0], OPERATIONS), frames)
        elif self.seat.is_tail:
            self._tell(self.seat.before, peers.Ack, self.committed)

    def _acknowledged(self, index: int) -> None:
        assert self.range is not None
        if self.outgoing:
            self.outgoing.has = max(self.outgoing.has, index)
            if self.is_followed and self.committed < self.outgoing.has <= self.range.index:
                self._commit(self.outgoing.has)
            self._trim()
        elif not self.seat.is_tail and self.committed < index <= self.range.index:
            self._commit(index)

    # Comparing.

    def sync(self) -> None:
        """Asks the next server what it has."""
        if self.range is not None and self.seat.next != NOBODY and self.seat.place >= 0:
            self.quiet = True
            self._tell(self.seat.next, peers.Sync, self.range.index, self.outgoing.number if self.outgoing else 0)

    def nudge(self) -> None:
        """Asks the next server again if it has said nothing since the last nudge; to be called from time to time."""
        stuck = self.outgoing is not None and self.outgoing.is_stuck()
        if self.quiet or stuck:
            self.sync()
        else:
            self.quiet = self.range is not None and (bool(self.log) or self.seat.joiner != NOBODY)

    def _compare(self, message: peers.Sync) -> None:
        self.floor = message.index if self.floor is None else self.floor
        self._tell_what_is_here(message.copy)
        if self.seat.place >= 0 and self.range is not None:
            self._tell(self.seat.before, peers.Ack, self.committed)

    def _tell_what_is_here(self, copy: int) -> None:
        """Tells the server before this one what is here: of the range, or of its ``copy``, if that makes one."""
        number, parts = (self.incoming.number, self.incoming.parts) if self.incoming else (0, 0)
        if self.range is None or number != copy:
            self._tell(self.seat.before, peers.Have, 0, True, False, copy)
        else:
            self._tell(self.seat.before, peers.Have, self.range.index, False, self.range.partial, copy, parts)

    def _bring_up_to_date(self, message: peers.Have) -> None:
        """Sends the next server what it lacks, or, where that is not known any more, begins a copy for who joins.

        What it says of a copy that was given up is about nothing that it has or will have, and what it said before may
        come once more.
        """
        assert self.range is not None
        if self.outgoing and (message.copy != self.outgoing.number or self.outgoing.is_past(message)):
            return
        if not message.nothing and self._reaches(message.index):
            self._send_what_lacks(message)
        elif self.seat.is_tail:
            self._begin_copy()
        else:
            self.is_beyond_help = message.nothing or message.index >= self.committed  # else it is an old word

    def _reaches(self, index: int) -> bool:
        """Returns whether the log has all operations behind the ``index``-th, if need be with those of the disk."""
        assert self.range is not None
        reach = self.range.index - len(self.log)
        if self.outgoing is not None:
            return index >= max(reach, self.outgoing.has)
        if self.committed <= index < reach and not self.seat.is_tail:  # all have lost power: the log is on the disk
            before = self.keeper.since(self.number, index)[: reach - index]
            entries = [Entry(index + 1 + n, frames, self.waiting.slowest_counted) for n, frames in enumerate(before)]
            if len(entries) == reach - index:
                self.log.extendleft(reversed(entries))
                return True
        return index >= reach

    def _send_what_lacks(self, message: peers.Have) -> None:
        """Sends the next server operations again, and parts of its copy, from where it is."""
        if self.outgoing:
            if not message.partial:
                self.outgoing.is_there()  # that word of it may have been lost
            self._acknowledged(message.index)
        for entry in self.log:
            if entry.index > message.index:
                self._tell(self.seat.next, peers.Forward, entry.index, frames=entry.frames)
        if self.outgoing and message.partial:
            self.outgoing.again(message.parts)

    def _begin_copy(self) -> None:
        assert self.range is not None
        self.log.clear()
        self.copies += 1
        tell = lambda kind, *fields, frames=(): self._tell(self.seat.next, kind, *fields, frames=frames)
        self.outgoing = Outgoing(self.copies, self.range, tell)

    @property
    def is_followed(self) -> bool:
        """Whether the server that joins has had all of the copy: it may be the tail soon, so what counts it must have.

        It learns that it is before this one does, and then takes nothing more from it.
        """
        return self.outgoing is not None and self.outgoing.everything

    @property
    def has_filled(self) -> bool:
        """Whether the server that joins has all of the range that counts."""
        return self.is_followed and self.outgoing is not None and self.outgoing.has >= self.committed

    def _copied(self, message: Any, frames: Frames) -> None:
        was_partial = self.range is not None and self.range.partial
        if isinstance(message, peers.Begin):
            if self.incoming is not None and message.copy <= self.incoming.number:
                return  # it came before, and parts of it may be here
            self.incoming = Incoming(message, frames, self.staleness)
            self.range = self.incoming.range
        elif self.incoming is None or message.copy != self.incoming.number:
            pass  # of a copy that was given up
        elif self.incoming.take(message, frames):
            self._tell(self.seat.before, peers.Got, self.incoming.number, self.incoming.parts)
            if isinstance(message, peers.End) and was_partial:
                self.committed = self.incoming.range.index
                self.keeper.replace(self.number, self.incoming.range)
        else:
            self._tell_what_is_here(self.incoming.number)

    def _tell(self, server: int, kind: Any, *fields: Any, frames: Frames = ()) -> None:
        assert self.view is not None
        self.send(server, kind(self.view.epoch, self.number, self.view.runs[self.me], *fields), frames)
