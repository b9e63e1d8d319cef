"""The state of a range of keys, as a machine that operations drive: the same ones in the same order, the same state.

Whoever holds a replica applies the same operations. Nothing here knows of a network, of time or of other replicas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from dlperf.kvstore import wire
from dlperf.kvstore.errors import Refused
from dlperf.kvstore.items import Item, Spec


class Session(msgspec.Struct, array_like=True):
    """How far a worker's operations have come: the ``number`` of the last, and its place in the order of all.

    ``refused`` are those of the latest that changed nothing, with the reason and what was wrong.
    """

    incarnation: int = 0
    number: int = 0
    index: int = 0
    refused: dict[int, tuple[str, str]] = {}


class Table(msgspec.Struct, array_like=True):
    """All of a range's state but its parts."""

    index: int
    sessions: list[Session]
    clocks: list[int]
    active: list[int]


class Again(Exception):
    """An operation that has been applied already, as the ``index``-th or before."""

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


class Range:
    """Parts by key and number, and how far each worker has come.

    ``staleness`` is how many rounds a worker may be ahead of the slowest: 0, pushes of a round count together when
    all have ended it (BSP); more, or None for any number, each push counts at once (SSP, ASP). Source: Ho et al.,
    More effective distributed ML via a stale synchronous parallel parameter server, NIPS 2013.
    """

    def __init__(self, workers: int, staleness: int | None) -> None:
        self.staleness = staleness
        self.items: dict[tuple[str, int], Item] = {}
        self.index = 0
        self.sessions = [Session() for _ in range(workers)]
        self.clocks = [0] * workers
        self.active = list(range(workers))
        self.partial = False  # while it is being copied from another server, parts may be lacking

    @property
    def slowest(self) -> int:
        """The clock of the worker that is furthest behind; that of the furthest where rounds wait for nobody."""
        return min((self.clocks[worker] for worker in self.active), default=max(self.clocks))

    def ahead(self, clock: int) -> list[int]:
        """Returns the workers for whom one at ``clock`` has to wait: none where it may go on."""
        if self.staleness is None:
            return []
        return [worker for worker in self.active if self.clocks[worker] < clock - self.staleness]

    def check(self, op: wire.Request, payload: Sequence[Any]) -> None:
        """Raises `Refused` for an operation whose turn it is and that may not be applied; else it can be."""
        match op:
            case wire.Create():
                self._check_create(op, payload)
            case wire.Push():
                if self.staleness == 0 and self.clocks[op.worker] > self.slowest:
                    raise Refused("early", f"worker {op.worker} has ended round {self.slowest}, and others have not")
                self.find(op).parse(payload)
            case wire.Tick() if payload:
                raise Refused("malformed", f"the end of a round brings no tensors, got {len(payload)} frames")
            case wire.Tick() if op.worker not in self.active:
                raise Refused("not ready", f"rounds go on without worker {op.worker} until the scheduler hears of it")

    def check_turn(self, op: wire.Request) -> None:
        """Raises `Again` for an operation that had its turn, `Gap` where others come before it, `Refused` if never."""
        if op.worker >= len(self.clocks):
            raise Refused("malformed", f"workers are 0 to {len(self.clocks) - 1}, got {op.worker}")
        session = self.sessions[op.worker]
        if op.incarnation < session.incarnation:
            raise Refused("superseded", f"worker {op.worker} has been started again, and this is the one before")
        if not op.number:
            raise Refused("malformed", "operations are numbered from 1")
        last = session.number if op.incarnation == session.incarnation else 0
        if op.number <= last:
            raise Again(session.index)
        if op.number > last + 1:
            raise Gap(last + 1, op.number)

    def _check_create(self, op: wire.Create, payload: Sequence[Any]) -> None:
        if len(payload) != 1:
            raise Refused("malformed", f"a part is created from one frame, got {len(payload)}")
        spec = Spec(op.dtype, op.shape, op.updater)
        there = self.items.get((op.key, op.part))
        if there is None:
            Item(spec, payload[0])
        elif there.spec != spec:
            raise Refused("other shape", f"{op.key!r}, part {op.part}, is {there.spec}, and cannot be {spec}")

    def find(self, op: wire.Push | wire.Pull) -> Item:
        """Returns the part that is meant; raises `Refused` where there is none."""
        item = self.items.get((op.key, op.part))
        if item is None:
            raise Refused("unknown key", f"there is no {op.key!r}, part {op.part}: create it first")
        return item

    def apply(self, op: wire.Operation, payload: Sequence[Any]) -> None:
        """Applies an operation that `check` lets pass, as the next."""
        self.index += 1
        before = self.slowest
        if isinstance(op, wire.Members):
            for worker in set(op.active) - set(self.active):  # one that comes back begins where the others are
                self.clocks[worker] = max(self.clocks[worker], before)
            self.active = sorted(op.active)
        else:
            self.sessions[op.worker] = self._session(op)
        match op:
            case wire.Create() if (op.key, op.part) not in self.items:
                self.items[op.key, op.part] = Item(Spec(op.dtype, op.shape, op.updater), payload[0])
            case wire.Push() if not (self.partial and (op.key, op.part) not in self.items):
                item = self.find(op)
                (item.collect if self.staleness == 0 else item.update)(*item.parse(payload))
            case wire.Tick() if op.clock > 0:
                self.clocks[op.worker] = max(self.clocks[op.worker] + 1, op.clock)
        if self.slowest > before:
            for item in self.items.values():
                item.end_round()

    def _session(self, op: wire.Request) -> Session:
        session = self.sessions[op.worker]
        refused = session.refused if session.incarnation == op.incarnation else {}
        if isinstance(op, wire.Nothing):
            kept = {number: why for number, why in refused.items() if number > op.number - wire.REMEMBERED}
            refused = {**kept, op.number: (op.reason, op.detail)}
        return Session(op.incarnation, op.number, self.index, refused)

    def why_refused(self, op: wire.Request) -> tuple[str, str] | None:
        """Returns the reason for which an operation changed nothing, and what was wrong; None for one that counts."""
        session = self.sessions[op.worker]
        return session.refused.get(op.number) if session.incarnation == op.incarnation else None

    def table(self) -> Table:
        """Returns all but the parts, to be copied."""
        return Table(self.index, list(self.sessions), list(self.clocks), list(self.active))

    def restore(self, table: Table) -> None:
        """Takes over what `table` returned."""
        self.index, self.sessions = table.index, list(table.sessions)
        self.clocks, self.active = list(table.clocks), list(table.active)


class Gap(Refused):
    """Operations are lacking before this one: the worker sends them again, from ``expected`` on."""

    def __init__(self, expected: int, got: int) -> None:
        super().__init__("gap", f"operation {expected} comes next, got {got}")
        self.expected = expected
