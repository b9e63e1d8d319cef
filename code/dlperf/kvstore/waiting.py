"""Workers' operations that are not answered yet: until they count, and rounds until others have come so far."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dlperf.kvstore import wire

if TYPE_CHECKING:
    from dlperf.kvstore.replica import Replica


class Waiting:
    """What a head still has to answer. ``slowest_counted`` is the slowest worker's clock, of what counts."""

    def __init__(self, replica: Replica) -> None:
        self.replica, self.slowest_counted = replica, 0
        self._answers: dict[int, list[tuple[Any, wire.Request]]] = {}
        self._ticks: dict[int, tuple[Any, wire.Tick]] = {}

    def __len__(self) -> int:
        """Returns how many workers wait for others."""
        return len(self._ticks)

    def clear(self) -> None:
        """Forgets all: workers that have no answer ask again, whoever is the head then."""
        self._answers.clear()
        self._ticks.clear()

    def answer(self, index: int, address: Any, op: wire.Request) -> None:
        """Answers an operation when the ``index``-th counts."""
        if index <= self.replica.committed:
            self._done(address, op)
        else:
            self._answers.setdefault(index, []).append((address, op))

    def counted(self, indices: Iterable[int], slowest: int) -> None:
        """These operations count now, and with them the slowest worker has come so far."""
        self.slowest_counted = slowest
        for index in indices if self._answers else ():
            for address, op in self._answers.pop(index, ()):
                self._done(address, op)
        for address, op in list(self._ticks.values()):
            if not self._ahead(op):
                self._done(address, op)

    def _ahead(self, op: wire.Tick) -> bool:
        range_ = self.replica.range
        assert range_ is not None
        return range_.staleness is not None and range_.clocks[op.worker] - range_.staleness > self.slowest_counted

    def _done(self, address: Any, op: wire.Request) -> None:
        assert self.replica.range is not None
        if why := self.replica.range.why_refused(op):
            self.replica.send(address, wire.Refusal(op.range, op.incarnation, op.number, False, *why), ())  # type: ignore[arg-type]
            return
        if isinstance(op, wire.Tick):
            if self._ahead(op):
                self._wait(address, op)
                return
            self._ticks.pop(op.worker, None)
        clock = self.replica.range.clocks[op.worker]
        self.replica.send(address, wire.Done(op.range, op.incarnation, op.number, clock), ())

    def _wait(self, address: Any, op: wire.Tick) -> None:
        """Has a worker wait for others, or tells it that one of them is lost."""
        range_, view = self.replica.range, self.replica.view
        assert range_ is not None
        assert view is not None
        late = tuple(range_.ahead(range_.clocks[op.worker]))
        if self.replica.on_lost == "error" and (gone := set(late) & set(view.lost)):
            detail = f"worker {min(gone)} is lost, and has not ended round {range_.clocks[min(gone)]}"
            refusal = wire.Refusal(op.range, op.incarnation, op.number, False, "lost", detail)
            self.replica.send(address, refusal, ())
            return
        self._ticks[op.worker] = address, op
        clock = range_.clocks[op.worker]
        self.replica.send(address, wire.Waiting(op.range, op.incarnation, op.number, clock, late), ())
