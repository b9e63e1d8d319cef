"""A server without its sockets: it takes messages, and has others sent. A process runs one; a test, many at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from dlperf.kvstore import peers, wire
from dlperf.kvstore.config import Config
from dlperf.kvstore.errors import Refused
from dlperf.kvstore.membership import View, empty
from dlperf.kvstore.ranges import Gap, Range
from dlperf.kvstore.replica import Frames, Keeper, Replica

FROM_WORKER = wire.decoder(wire.FromWorker)
FROM_PEER = wire.decoder(peers.FromPeer)
FROM_SCHEDULER = wire.decoder(peers.FromScheduler)

Send = Callable[[str, Any, wire.Message, Frames], None]
"""Sends to a "worker" by its address, a "server" by its number, or the "scheduler", a message and frames."""


class Node:
    """Server ``me``, as the process ``run``. ``found`` are the ranges that its disk has; ``clock`` is in seconds."""

    def __init__(
        self,
        config: Config,
        me: int,
        run: int,
        send: Send,
        keeper: Keeper,
        clock: Callable[[], float],
        found: dict[int, Range] | None = None,
    ) -> None:
        self.config, self.me, self.run = config, me, run
        self.send, self.clock = send, clock
        self.view: View = empty(len(config.servers), config.workers)
        self.lease = float("-inf")
        self.unwelcome = ""
        self.leaving = False
        self.refused: Counter[str] = Counter()
        self.silent: dict[int, tuple[int, float]] = {}
        """By range, the next server and since when it has said nothing."""
        self.replicas = [
            Replica(me, number, self._out, keeper, config.workers, config.staleness, config.on_lost)
            for number in range(len(config.servers))
        ]
        for number, range_ in (found or {}).items():
            self.replicas[number].range = range_

    def _out(self, to: Any, message: wire.Message, frames: Frames) -> None:
        self.send("server" if isinstance(to, int) else "worker", to, message, frames)

    def front(self, address: bytes, frames: Sequence[Any]) -> int:
        """Takes what a worker sends, and returns of which range it is, -1 if of none.

        Whatever is sent, the server goes on, and says what was wrong.
        """
        message: Any = None
        try:
            message = wire.decode(frames[0], FROM_WORKER) if frames else None
            if message is None:
                raise Refused("malformed", "there is no header")
            self._serve(address, message, frames)
        except Refused as refused:
            self.refused[refused.reason] += 1
            range_, incarnation, number = (message.range, message.incarnation, message.number) if message else (0, 0, 0)
            expected = refused.expected if isinstance(refused, Gap) else self.view.epoch
            reading = isinstance(message, wire.Pull)
            detail = refused.detail[:2000]
            refusal = wire.Refusal(range_, incarnation, number, reading, refused.reason, detail, expected)
            self._out(address, refusal, ())
        return message.range if message and message.range < len(self.replicas) else -1

    def _serve(self, address: bytes, message: Any, frames: Sequence[Any]) -> None:
        if any(len(frame) > wire.PAYLOAD for frame in frames[1:]):
            raise Refused("malformed", f"a frame has at most {wire.PAYLOAD} bytes")
        if message.range >= len(self.replicas):
            raise Refused("malformed", f"ranges are 0 to {len(self.replicas) - 1}, got {message.range}")
        if message.epoch != self.view.epoch or not self.view.epoch:
            raise Refused("epoch", f"this is epoch {self.view.epoch}, the request is of {message.epoch}")
        replica = self.replicas[message.range]
        if isinstance(message, wire.Pull):
            if self.leaving:
                raise Refused("not ready", "this server leaves, and others may hold its ranges already")
            if self.clock() > self.lease:
                raise Refused("not ready", "this server has not heard of the scheduler for too long to answer reads")
            replica.pull(address, message, frames[1:])
        else:
            replica.request(address, message, frames)
            if replica.range is not None and (why := replica.range.why_refused(message)):
                self.refused[why[0]] += 1

    def back(self, sender: int, frames: Sequence[Any]) -> None:
        """Takes what another server sends.

        What is malformed, of another epoch, or of another process than it was, is counted and dropped.
        """
        try:
            message = wire.decode(frames[0], FROM_PEER) if frames else None
        except Refused:
            message = None
        if message is None or message.range >= len(self.replicas) or not 0 <= sender < len(self.view.runs):
            self.refused["malformed"] += 1
            return
        if message.epoch != self.view.epoch or message.run != self.view.runs[sender]:
            self.refused["epoch"] += 1
            return
        try:
            self.replicas[message.range].receive(sender, message, frames[1:])
        except Refused as refused:
            self.refused[refused.reason] += 1
            return
        if isinstance(message, peers.Got):
            self._report(self.replicas[message.range])

    def heard(self, frames: Sequence[Any]) -> None:
        """Takes what the scheduler answers."""
        try:
            message = wire.decode(frames[0], FROM_SCHEDULER) if frames else None
        except Refused:
            message = None
        if message is None:
            self.refused["malformed"] += 1
            return
        if isinstance(message, peers.Unwelcome):
            self.unwelcome = message.detail
            return
        if message.view is not None and message.view.epoch > self.view.epoch:
            if message.view.runs[self.me] != self.run and not self.leaving:
                return  # it has not noticed yet that this process has taken over
            self.view = message.view
            for replica in self.replicas:
                replica.install(message.view)
        if message.view is None or message.view.epoch == self.view.epoch:
            self.lease = max(self.lease, message.at / 1e9 + self.config.lease)

    def beat(self) -> None:
        """Tells the scheduler that this server is there."""
        holds = tuple(
            (r.number, r.range.index)
            for r in self.replicas
            if r.range and not r.range.partial and (r.seat.place >= 0 or not r.view)
        )
        at = int(self.clock() * 1e9)
        self.send(
            "scheduler", None, peers.Beat("server", self.me, self.run, self.view.epoch, at, holds, self.leaving), ()
        )

    def nudge(self) -> None:
        """Asks again where an answer is lacking."""
        for replica in self.replicas:
            self._complain(replica)
            replica.nudge()
            self._report(replica)

    def _complain(self, replica: Replica) -> None:
        """Tells the scheduler of a next server that has said nothing for longer than `Config.dead`, though asked to.

        One that joins, and for which nothing waits, may take its time. Who has not heard of the scheduler itself does
        not complain: it is cut off, or was paused, and has not yet looked at what has come meanwhile.
        """
        now, who = self.clock(), replica.seat.next
        waits = (
            replica.range is not None and replica.seat.place >= 0 and (not replica.seat.is_tail or replica.is_followed)
        )
        if not (replica.quiet and waits):
            self.silent.pop(replica.number, None)
            silent = False
        else:
            before, since = self.silent.setdefault(replica.number, (who, now))
            if before != who:
                self.silent[replica.number] = who, now
            silent = before == who and now - since > self.config.dead
        if (silent or replica.is_beyond_help) and now <= self.lease:
            self.send("scheduler", None, peers.Stuck(self.view.epoch, replica.number, self.me, who), ())

    def _report(self, replica: Replica) -> None:
        if replica.has_filled:
            self.send("scheduler", None, peers.CaughtUp(self.view.epoch, replica.number, replica.seat.joiner), ())

    @property
    def duplicates(self) -> Counter[str]:
        """How many operations of workers came again though they were applied, by their kind: none counted twice."""
        total = Counter({"push": 0})
        for replica in self.replicas:
            total.update(dict(replica.duplicates))
        return total

    @property
    def has_left(self) -> bool:
        """Whether the cluster goes on without this server."""
        return self.leaving and not self.view.runs[self.me]
