"""A worker without its sockets: it numbers operations, sends them again until they count, and never counts one twice.

Operations on one range are numbered, and their server takes them in this order only. So whatever is lost on the way,
or with a server, can be sent again, by the same number: it counts once. The scheduler's word says to whom.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from dlperf.kvstore import wire
from dlperf.kvstore.errors import Lost, Refused, StoreError, Unreachable
from dlperf.kvstore.membership import View, empty

WINDOW = 16
"""So many requests to a range are under way at a time: with the most bytes of a part, what a server must queue."""

AGAIN = 0.5
"""So many seconds pass until a request that has no answer is sent again, and twice as many each time after that: a
server that is only slow must not have to hear everything again and again. Where a full link makes all wait, others on
its range are answered, and each answer begins these seconds anew."""

SELDOM = 4.0
"""So many seconds at the most."""

OVERDUE = 16.0
"""So many seconds after it was sent a request is sent again, whatever is answered meanwhile: it alone may be lost."""

SOON = 0.02
"""So many seconds until one is that came too early."""

STREAMS = 2**20
"""So many times may a worker's numbers begin anew in one incarnation."""

FROM_SERVER = wire.decoder(wire.ToWorker)
LATER = ("epoch", "not ready")


@dataclass
class Ticket:
    """A request under way, and what became of it. ``took`` is called with the frames of an answer to a read.

    ``early`` is the moment at which it is sent again since it came too early. ``clock`` is what the server has said,
    since an operation counts, of how many rounds its worker has ended.
    """

    message: wire.Request
    frames: Sequence[Any]
    took: Callable[[Sequence[Any]], None] = lambda _: None
    since: float = 0.0
    sent: float = float("-inf")
    again: float = AGAIN
    early: float = float("inf")
    done: bool = False
    error: StoreError | None = None
    waits_for: tuple[int, ...] = ()
    clock: int | None = None

    def end(self, error: StoreError | None = None) -> None:
        self.done, self.error, self.frames = True, error, ()


@dataclass
class Lane:
    """Operations on a range, in order. After one that was given up, those behind it begin a ``stream`` of their own."""

    waiting: deque[Ticket] = field(default_factory=deque)
    under_way: dict[int, Ticket] = field(default_factory=dict)
    reads: dict[int, Ticket] = field(default_factory=dict)
    waiting_reads: deque[Ticket] = field(default_factory=deque)
    stream: int = 0
    next: int = 1
    broken: bool = False
    progress: float = float("-inf")
    """When the last request was done."""

    @property
    def span(self) -> int:
        """How far back the oldest operation under way lies."""
        return self.next - min(self.under_way, default=self.next)


class Client:
    """Worker ``me``. ``send(server, message, frames)`` sends; ``ask()`` has the scheduler asked for its view."""

    def __init__(
        self,
        me: int,
        servers: int,
        workers: int,
        send: Callable[[int, wire.Message, Sequence[Any]], None],
        ask: Callable[[], None],
        patience: float = 60.0,
    ) -> None:
        self.me, self.send, self.ask, self.patience = me, send, ask, patience
        self.view: View = empty(servers, workers)
        self.lanes = [Lane() for _ in range(servers)]
        self.reads = 0

    def submit(self, ticket: Ticket, now: float) -> None:
        """Has a request sent as soon as there is room; its worker, epoch, incarnation and number are filled in."""
        ticket.since = now
        lane = self.lanes[ticket.message.range]
        (lane.waiting_reads if isinstance(ticket.message, wire.Pull) else lane.waiting).append(ticket)
        self._fill(ticket.message.range, now)

    def abandon(self, error: StoreError) -> None:
        """Ends all requests with an error."""
        for lane in self.lanes:
            for ticket in (*lane.under_way.values(), *lane.reads.values(), *lane.waiting, *lane.waiting_reads):
                ticket.end(error)

    def install(self, view: View, now: float) -> None:
        """Takes a newer view, and sends again what may have been lost with the old one."""
        if view.epoch <= self.view.epoch:
            return
        self.view = view
        for number, lane in enumerate(self.lanes):
            for ticket in (*lane.under_way.values(), *lane.reads.values()):
                ticket.again = AGAIN
                self._send(ticket, now)
            self._fill(number, now)

    def _fill(self, number: int, now: float) -> None:
        lane = self.lanes[number]
        if not self.view.workers[self.me]:
            return
        if lane.broken and not lane.under_way:
            lane.broken, lane.next, lane.stream = False, 1, lane.stream + 1
        while lane.waiting and not lane.broken and len(lane.under_way) < WINDOW and lane.span < wire.REMEMBERED:
            ticket = lane.waiting.popleft()
            incarnation = self.view.workers[self.me] * STREAMS + lane.stream
            ticket.message = msgspec.structs.replace(
                ticket.message, worker=self.me, incarnation=incarnation, number=lane.next
            )
            lane.under_way[lane.next] = ticket
            lane.next += 1
            self._send(ticket, now)
        while lane.waiting_reads and len(lane.reads) < WINDOW:
            ticket = lane.waiting_reads.popleft()
            self.reads += 1
            ticket.message = msgspec.structs.replace(ticket.message, worker=self.me, number=self.reads)
            lane.reads[self.reads] = ticket
            self._send(ticket, now)

    def _send(self, ticket: Ticket, now: float) -> None:
        chain = self.view.chains[ticket.message.range]
        ticket.sent, ticket.early = now, float("inf")
        if not chain and self.view.epoch:
            self._end(ticket, Lost(f"range {ticket.message.range} is lost: its last server came back without it"))
        elif chain and self.view.is_up(ticket.message.range):
            ticket.message = msgspec.structs.replace(ticket.message, epoch=self.view.epoch)
            server = chain[-1] if isinstance(ticket.message, wire.Pull) else chain[0]
            self.send(server, ticket.message, ticket.frames)

    def receive(self, frames: Sequence[Any], now: float) -> None:
        """Takes a server's answer; one that nobody waits for any more is dropped."""
        message = wire.decode(frames[0], FROM_SERVER)
        if message.range >= len(self.lanes):
            return
        lane = self.lanes[message.range]
        if isinstance(message, wire.Done | wire.Value):
            lane.progress = now
        reading = isinstance(message, wire.Value) or (isinstance(message, wire.Refusal) and message.read)
        ticket = (lane.reads if reading else lane.under_way).get(message.number)
        if ticket is None or (not reading and message.incarnation != ticket.message.incarnation):
            return  # nobody waits for it any more, or it is of a number that another operation had before
        match message:
            case wire.Done():
                ticket.clock = message.clock
                self._end(ticket)
            case wire.Value():
                ticket.took(frames[1:])
                self._end(ticket)
            case wire.Waiting():
                ticket.waits_for, ticket.clock = message.workers, message.clock
            case wire.Refusal():
                self._refused(lane, ticket, message, now)
        self._fill(message.range, now)

    def _refused(self, lane: Lane, ticket: Ticket, message: wire.Refusal, now: float) -> None:
        if message.reason == "gap":
            for number, each in lane.under_way.items():
                if number >= message.expected and now - each.sent > SOON:
                    self._send(each, now)
        elif message.reason in LATER:
            if message.reason == "epoch" and message.expected > self.view.epoch:
                self.ask()
            ticket.early = now + SOON
        else:
            lost = message.reason == "lost"  # said of a round that has been ended, and cannot be waited for
            self._end(ticket, Lost(message.detail) if lost else Refused(message.reason, message.detail))

    def _end(self, ticket: Ticket, error: StoreError | None = None) -> None:
        """Ends a request that has been answered, or whose range is lost."""
        ticket.end(error)
        lane = self.lanes[ticket.message.range]
        (lane.reads if isinstance(ticket.message, wire.Pull) else lane.under_way).pop(ticket.message.number, None)

    def nudge(self, now: float) -> None:
        """Sends again what has no answer; gives up what has had none for too long."""
        for number, lane in enumerate(self.lanes):
            for ticket in (*lane.under_way.values(), *lane.reads.values(), *lane.waiting, *lane.waiting_reads):
                heard = float("-inf") if ticket.waits_for else lane.progress  # others' answers are no word of a worker
                if now - max(ticket.since, heard) > self.patience:
                    self._give_up(lane, ticket)
                elif ticket.sent > float("-inf") and not ticket.done and self._is_late(lane, ticket, now):
                    self._send(ticket, now)
                    ticket.again = min(2 * ticket.again, SELDOM)
            self._fill(number, now)

    def _is_late(self, lane: Lane, ticket: Ticket, now: float) -> bool:
        heard = ticket.sent if ticket.waits_for else max(ticket.sent, lane.progress)
        return now >= ticket.early or now - heard >= ticket.again or now - ticket.sent >= OVERDUE

    def _give_up(self, lane: Lane, ticket: Ticket) -> None:
        what = f"{type(ticket.message).__name__} on range {ticket.message.range}"
        if ticket.waits_for:
            late = ", ".join(map(str, ticket.waits_for))
            why = f"worker {late} has not come so far in {self.patience:g} s"
        else:
            chain = list(self.view.chains[ticket.message.range])
            why = f"no answer in {self.patience:g} s; the range's servers are {chain}"
        error = Unreachable(f"{what}: {why}. Whether it counts is not known.")
        if any(ticket is each for each in lane.waiting):
            lane.waiting.remove(ticket)  # it was never sent
            ticket.end(error)
        elif any(ticket is each for each in lane.waiting_reads):
            lane.waiting_reads.remove(ticket)
            ticket.end(error)
        elif not ticket.done:  # it may have ended with one before it
            self._end(ticket, error)
            if not isinstance(ticket.message, wire.Pull):
                self._break(lane, ticket.message.number, error)

    def _break(self, lane: Lane, number: int, error: StoreError) -> None:
        """Gives up operations behind one whose fate is not known, since theirs is not known either.

        Under other numbers they could count twice. What comes after them begins a stream of its own.
        """
        for each in [each for each in lane.under_way if each > number]:
            lane.under_way.pop(each).end(error)
        lane.broken = True

    @property
    def idle(self) -> bool:
        """Whether nothing is under way."""
        return not any(lane.under_way or lane.reads or lane.waiting or lane.waiting_reads for lane in self.lanes)
