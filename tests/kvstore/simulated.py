"""A cluster in one process, whose network loses, delays and repeats what it likes, and whose servers crash and pause.

Scheduler, servers and workers are those of the store; only sockets and time are simulated. Everything that happens
follows from one seed, so a run that failed can be repeated.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import torch

from dlperf.kvstore import peers, wire
from dlperf.kvstore.client import Client, Ticket
from dlperf.kvstore.config import Config
from dlperf.kvstore.errors import StoreError
from dlperf.kvstore.node import Node
from dlperf.kvstore.ranges import Range
from dlperf.kvstore.scheduling import Remembered, Scheduler
from dlperf.kvstore.updaters import Sum

FROM_SCHEDULER = wire.decoder(peers.FromScheduler)
TO_SCHEDULER = wire.decoder(peers.ToScheduler)


class Disk:
    """A disk that keeps all that was appended before a crash; ranges are put down as their operations."""

    def __init__(self) -> None:
        self.ranges: dict[int, Range] = {}
        self.logs: dict[int, dict[int, Sequence[Any]]] = {}

    def append(self, number: int, index: int, frames: Sequence[Any]) -> None:
        self.logs[number][index] = [bytes(frame) for frame in frames]

    def replace(self, number: int, range_: Range) -> None:
        self.ranges[number] = range_  # the same object: it is always what was last applied
        self.logs[number] = {}

    def drop(self, number: int) -> None:
        self.ranges.pop(number, None)
        self.logs.pop(number, None)

    def since(self, number: int, index: int) -> list[Sequence[Any]]:
        log = self.logs.get(number, {})
        places = range(index + 1, max(log, default=0) + 1)
        return [log[place] for place in places] if all(place in log for place in places) else []


AGAIN = 5
"""So many messages come once more when a connection repeats itself."""


@dataclass(order=True)
class Event:
    at: float
    order: int
    act: Any = field(compare=False)


def config(servers: int, workers: int, **options: Any) -> Config:
    return Config(
        scheduler="127.0.0.1:1000",
        servers=tuple(f"127.0.0.1:{2000 + 2 * s}" for s in range(servers)),
        workers=workers,
        **options,
    )


class World:
    """A cluster. ``loss`` is the share of messages that are lost; those between two ends never overtake each other.

    ``repeats`` is the share of messages behind which the last `AGAIN` of the same connection come once more, in their
    order, as if a connection had been made anew and had not known what had arrived.
    """

    def __init__(self, config: Config, seed: int, loss: float = 0.0, slow: float = 0.01, repeats: float = 0.0) -> None:
        self.config, self.random = config, random.Random(seed)
        self.loss, self.slow, self.repeats = loss, slow, repeats
        self.sent: dict[tuple[Any, Any], deque[list[bytes]]] = {}
        self.repeated = 0
        self.now, self.order, self.events = 0.0, 0, list[Event]()
        self.arrives: dict[tuple[Any, Any], float] = {}
        self.down: set[Any] = set()
        self.paused: dict[Any, list[Any]] = {}
        self.cut: set[Any] = set()
        """Who is cut off from all others, and pairs (as frozensets) who are from each other."""
        self.disks = [Disk() for _ in config.servers]
        self.kept: bytes | None = None
        self.runs = iter(range(1, 10**9))
        self.nodes: list[Node] = []
        self.former: dict[int, Node] = {}  # servers' processes that have been replaced while they were paused, by run
        self.start_scheduler()
        for server in range(len(config.servers)):
            self.nodes.append(self._node(server))
        self.processes: dict[Any, Client] = {}
        self.who: dict[int, Any] = {}  # the latest process of each worker
        for server in range(len(config.servers)):
            self._beats(("server", server))
        for worker in range(config.workers):
            self.start_worker(worker)
        self._ticks()

    # Parts.

    def start_scheduler(self, before: Remembered | None = None) -> None:
        self.scheduler = Scheduler(self.config, self._keep, self.now, before)
        self.listeners: dict[Any, int] = {}

    def _keep(self, state: Remembered) -> None:
        self.kept = wire.encode(state)

    def _node(self, server: int, found: dict[int, Range] | None = None) -> Node:
        run = next(self.runs)
        send = lambda role, to, message, frames: self.send(
            ("former", run) if run in self.former else ("server", server),
            {"worker": to, "server": ("server", to), "scheduler": "scheduler"}[role], message, frames,
        )  # fmt: skip
        return Node(self.config, server, run, send, self.disks[server], lambda: self.now, found)

    @property
    def clients(self) -> list[Client]:
        return [self.processes[self.who[worker]] for worker in range(self.config.workers)]

    def start_worker(self, worker: int) -> Any:
        """Starts a process of a worker, and returns which; a former one goes on until it hears of this."""
        me = self.who[worker] = "worker", worker, next(self.runs)
        self.processes[me] = Client(
            worker,
            len(self.config.servers),
            self.config.workers,
            lambda server, message, frames: self.send(me, ("server", server), message, frames),
            lambda: self._beat(me),
            self.config.patience,
        )
        self._beats(me)
        return me

    # Time.

    def at(self, seconds: float, act: Any) -> None:
        self.order += 1
        heapq.heappush(self.events, Event(self.now + seconds, self.order, act))

    def run(self, seconds: float, until: Any = None) -> bool:
        """Lets time pass; returns whether ``until()`` came true."""
        end = self.now + seconds
        while self.events and self.events[0].at <= end:
            event = heapq.heappop(self.events)
            self.now = event.at
            event.act()
            if until is not None and until():
                return True
        self.now = end
        return False

    def _beats(self, who: Any) -> None:
        if who in self.processes and who in self.down:
            return  # a worker's process that has ended is not started again
        self._do(who, lambda: self._beat(who))
        self.at(self.config.beat * self.random.uniform(0.5, 1.2), lambda: self._beats(who))

    def _beat(self, who: Any) -> None:
        if who in self.processes:
            self.processes[who].nudge(self.now)
            self.beat_of_worker(who)
        else:
            self.nodes[who[1]].beat()
            self.nodes[who[1]].nudge()

    def beat_of_worker(self, who: Any, leaving: bool = False) -> None:
        _, worker, run = who
        beat = peers.Beat("worker", worker, run, self.processes[who].view.epoch, 0, (), leaving)
        self.send(who, "scheduler", beat, ())

    def _ticks(self) -> None:
        if "scheduler" not in self.down:
            self._do("scheduler", self._tick)
        self.at(0.05, self._ticks)

    def _tick(self) -> None:
        if self.scheduler.tick(self.now):
            self._announce()

    def _announce(self) -> None:
        for listener, run in self.listeners.items():
            if not self.scheduler.is_former(run):
                self.send("scheduler", listener, peers.Heard(0, self.scheduler.view), ())

    # Messages.

    def send(self, sender: Any, to: Any, message: wire.Message, frames: Sequence[Any]) -> None:
        copies = [bytes(wire.encode(message)), *(bytes(frame) for frame in frames)]
        if sender in self.down or self.random.random() < self.loss:
            return
        before = self.sent.setdefault((sender, to), deque(maxlen=AGAIN))
        before.append(copies)
        self._carry(sender, to, copies)
        if self.repeats and self.random.random() < self.repeats:
            self.repeated += len(before)
            for each in before:
                self._carry(sender, to, each)

    def _carry(self, sender: Any, to: Any, frames: list[bytes]) -> None:
        when = max(self.now + self.random.expovariate(1 / self.slow), self.arrives.get((sender, to), 0.0))
        self.arrives[sender, to] = when
        self.at(when - self.now, lambda: self._deliver(sender, to, frames))

    def _deliver(self, sender: Any, to: Any, frames: list[bytes]) -> None:
        if {sender, to, frozenset((sender, to))} & self.cut or to in self.down:
            return
        self._do(to, lambda: self._receive(sender, to, frames))

    def _do(self, who: Any, act: Any) -> None:
        if who in self.paused:
            self.paused[who].append(act)
        elif who not in self.down:
            act()

    def _receive(self, sender: Any, to: Any, frames: list[bytes]) -> None:
        if to == "scheduler":
            epoch = self.scheduler.view.epoch
            message = wire.decode(frames[0], TO_SCHEDULER)
            answer = self.scheduler.handle(message, self.now)
            if isinstance(message, peers.Beat) and not self.scheduler.is_former(message.run):
                self.listeners[sender] = message.run
            if answer is not None and self._is_process(sender, message.run):
                self.send("scheduler", sender, answer, ())  # an answer to a process that has ended reaches no other
            if self.scheduler.view.epoch != epoch:
                self._announce()
            return
        if to in self.processes:
            self._take(to, sender, frames)
            return
        if to[0] == "former":
            self.former[to[1]].heard(frames)
            return
        node = self.nodes[to[1]]
        if sender == "scheduler":
            node.heard(frames)
            assert not node.unwelcome, f"{to} is its only process, and was sent away: {node.unwelcome}"
        elif sender[0] == "server":
            node.back(sender[1], frames)
        elif sender[0] == "former":
            node.back(self.former[sender[1]].me, frames)
        else:
            node.front(sender, frames)

    def _is_process(self, who: Any, run: int) -> bool:
        """Returns whether a process is still the one that said so."""
        if who in self.processes:
            return True
        node = self.former.get(who[1]) if who[0] == "former" else self.nodes[who[1]]
        return node is not None and node.run == run

    def _take(self, who: Any, sender: Any, frames: list[bytes]) -> None:
        client = self.processes[who]
        if sender != "scheduler":
            client.receive(frames, self.now)
            return
        message = wire.decode(frames[0], FROM_SCHEDULER)
        if isinstance(message, peers.Unwelcome):
            client.abandon(StoreError(message.detail))
            self.crash(who)
        elif message.view is not None:
            client.install(message.view, self.now)

    # What happens to machines.

    def crash(self, who: Any) -> None:
        self.down.add(who)
        self.paused.pop(who, None)
        self.sent = {ends: last for ends, last in self.sent.items() if who not in ends}

    def restart(self, server: int, keeps: bool) -> None:
        """Starts a server again, with what its disk has or with an empty one."""
        if not keeps:
            self.disks[server] = Disk()
        self.nodes[server] = self._node(server, dict(self.disks[server].ranges))
        self.down.discard(("server", server))

    def replace(self, server: int, keeps: bool) -> int:
        """Starts another process of a server that is paused; returns the run of the one that `wake` can bring back."""
        old = self.nodes[server]
        self.former[old.run] = old
        del self.paused["server", server]
        self.restart(server, keeps)
        return old.run

    def wake(self, run: int) -> None:
        """Lets a replaced process of a server go on, until it hears that it has been replaced."""
        node = self.former[run]
        if not node.unwelcome:
            node.beat()
            node.nudge()
            self.at(self.config.beat, lambda: self.wake(run))

    def restart_scheduler(self) -> None:
        self.down.discard("scheduler")
        self.start_scheduler(msgspec.msgpack.decode(self.kept, type=Remembered) if self.kept else None)

    def pause(self, who: Any) -> None:
        if who not in self.down:
            self.paused.setdefault(who, [])

    def resume(self, who: Any) -> None:
        for act in self.paused.pop(who, []):
            if who not in self.down:
                act()

    # What workers do.

    def submit(self, worker: int, message: wire.Request, frames: Sequence[Any] = (), took: Any = None) -> Ticket:
        ticket = Ticket(message, frames, took or (lambda _: None))
        self.clients[worker].submit(ticket, self.now)
        return ticket

    def create(self, worker: int, range_: int, key: str, length: int, updater: Any = Sum()) -> Ticket:  # noqa: B008
        return self.submit(
            worker,
            wire.Create(0, 0, 0, range_, 0, key, 0, "int64", (length,), updater),
            [wire.to_bytes(torch.zeros(length, dtype=torch.int64))],
        )

    def push(self, worker: int, range_: int, key: str, value: torch.Tensor) -> Ticket:
        return self.submit(worker, wire.Push(0, 0, 0, range_, 0, key, 0), [bytes(wire.to_bytes(value))])

    def pull(self, worker: int, range_: int, key: str) -> tuple[Ticket, list[list[int]]]:
        got: list[list[int]] = []
        take = lambda frames: got.append(torch.frombuffer(bytearray(frames[0]), dtype=torch.int64).tolist())
        return self.submit(worker, wire.Pull(0, 0, 0, range_, 0, key, 0), (), take), got

    def tick(self, worker: int, clock: int) -> list[Ticket]:
        ranges = range(len(self.config.servers))
        return [self.submit(worker, wire.Tick(0, 0, 0, r, 0, clock)) for r in ranges]
