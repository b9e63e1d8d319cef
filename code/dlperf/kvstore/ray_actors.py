"""A server and the scheduler as actors of Ray: without sockets, their messages are calls of a method.

Ray starts an actor again when its process or its node has died. What it had in memory is gone: the chain fills it up,
or its disk does, if the folder is one that every node reaches. Ray takes a node for dead that it does not hear of,
and its actors may still run: so each process of a server has a number, its ``run``, a message of the scheduler is
for one of them only, and a folder is read when the process before has ended (`lock`).

Whoever reaches Ray's ports can run what he likes, unless Ray was told to ask for a token (``RAY_AUTH_MODE=token``).
Source: Moritz et al., Ray: a distributed framework for emerging AI applications, OSDI 2018.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import sys
import traceback
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from dlperf.kvstore import peers, wire
from dlperf.kvstore.config import Config
from dlperf.kvstore.connection import now
from dlperf.kvstore.errors import Refused
from dlperf.kvstore.files import write_whole
from dlperf.kvstore.journal import Journal
from dlperf.kvstore.node import Node
from dlperf.kvstore.ray_messages import QUEUE, Address, Packet, Sender, find, pack, ray
from dlperf.kvstore.scheduler import TO_SCHEDULER, remembered
from dlperf.kvstore.scheduling import Remembered, Scheduler
from dlperf.kvstore.server import NoDisk

TICK = 0.05
"""So many seconds pass between the scheduler's looks at who is late."""


class Mailbox:
    """Messages for a worker, which is no actor and comes to fetch them; when it last did."""

    def __init__(self) -> None:
        self.packets: deque[Packet] = deque(maxlen=QUEUE)
        self.filled, self.fetched = asyncio.Event(), now()


class Actor:
    """What servers and the scheduler have in common: they take messages, send, and keep those for workers."""

    def __init__(self, config: Config, me: Address) -> None:
        self.config = config
        self.sender = Sender(me, lambda to: find(config, to))
        self.mailboxes: dict[bytes, Mailbox] = {}
        self.timer = asyncio.get_running_loop().create_task(self._work())

    async def answers(self, worker: bytes, seconds: float) -> list[Packet]:
        """Returns the messages for a worker's process; waits so long for the first."""
        box = self.mailboxes.setdefault(worker, Mailbox())
        box.fetched = now()
        if not box.packets:
            box.filled.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(box.filled.wait(), seconds)
        packets = list(box.packets)
        box.packets.clear()
        return packets

    async def take(self, sender: Address, packets: list[Packet]) -> None:
        """Takes messages of one sender, in order."""
        raise NotImplementedError

    async def node_id(self) -> str:
        """Returns the node on which it runs now."""
        return str(ray.get_runtime_context().get_node_id())

    async def process_id(self) -> int:
        """Returns the process that it is now."""
        return os.getpid()

    async def _work(self) -> None:
        """Does what is due from time to time, for ever."""
        raise NotImplementedError

    def _post(self, worker: bytes, packet: Packet) -> None:
        """Leaves a message for a worker."""
        box = self.mailboxes.setdefault(worker, Mailbox())
        box.packets.append(packet)
        box.filled.set()

    def _forget(self) -> None:
        """Drops what nobody has come for."""
        for worker, box in list(self.mailboxes.items()):
            if now() - box.fetched > 2 * self.config.dead:
                del self.mailboxes[worker]


@contextmanager
def ending_the_process() -> Iterator[None]:
    """Ends the process where something fails, as that of a server without Ray does: Ray starts another."""
    try:
        yield
    except Exception:
        traceback.print_exc()
        os._exit(1)


def lock(path: Path) -> BinaryIO:
    """Returns a file that no other process has, when that is so; it is this one's until it is closed or ends.

    Two processes of a server must not write one folder, nor may the second read it while the first acknowledges more.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    file = path.open("wb")
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


class ServerActor(Actor):
    """Server ``me`` of a cluster (``config``: `Config` in JSON): a `Node`, whose process is Ray's."""

    def __init__(self, config: bytes, me: int) -> None:
        run = int.from_bytes(os.urandom(7))
        super().__init__(msgspec.json.decode(config, type=Config), (me, run))
        self.journal: Journal | NoDisk = NoDisk()
        if self.config.disk:
            folder = Path(self.config.disk) / f"server-{me}"
            self.lock = lock(folder / "lock")
            self.journal = Journal(folder, self.config.sync == "always")
        self.outbox: list[tuple[Any, Packet]] = []
        self.node = Node(self.config, me, run, self._put, self.journal, now, self.journal.found(self.config))

    async def take(self, sender: Address, packets: list[Packet]) -> None:
        """Takes messages of a server, the scheduler or a worker; what follows is sent when the disk has it."""
        with ending_the_process():
            for packet in packets:
                self._take(sender, [memoryview(frame) for frame in packet])
            self._flush()
        if self.node.unwelcome:
            print(self.node.unwelcome, file=sys.stderr)
            ray.actor.exit_actor()  # and Ray does not start it again

    def _take(self, sender: Address, frames: list[memoryview]) -> None:
        if sender is None:
            if bytes(frames[1]) == to_bytes(self.node.run):  # else it is for the process before this one
                self.node.heard(frames[:1])
        elif isinstance(sender, bytes):
            self.node.front(sender, frames)
        else:
            self.node.back(sender[0], frames)

    def _put(self, role: str, to: Any, message: wire.Message, frames: Any) -> None:
        self.outbox.append((None if role == "scheduler" else to, pack(message, frames)))

    def _flush(self) -> None:
        self.journal.flush()
        for to, packet in self.outbox:
            self._post(to, packet) if isinstance(to, bytes) else self.sender.send(to, packet)
        self.outbox.clear()

    async def _work(self) -> None:
        while True:
            await asyncio.sleep(self.config.beat)
            with ending_the_process():
                self.node.beat()
                self.node.nudge()
                self._flush()
                self._forget()


class SchedulerActor(Actor):
    """The scheduler of a cluster (``config``: `Config` in JSON), whose process is Ray's."""

    def __init__(self, config: bytes) -> None:
        super().__init__(msgspec.json.decode(config, type=Config), None)
        before = None
        self.file = Path(self.config.disk) / "scheduler" if self.config.disk else None
        if self.file:
            self.lock = lock(self.file.with_name("scheduler.lock"))
            if self.file.exists():
                before = remembered(self.file, self.config)
        self.scheduler = Scheduler(self.config, self._keep, now(), before)
        self.listeners: dict[Address, int] = {}
        self.said = ""

    def _keep(self, state: Remembered) -> None:
        if self.file:
            write_whole(self.file, [msgspec.msgpack.encode(state)], self.config.sync == "always")

    async def take(self, sender: Address, packets: list[Packet]) -> None:
        """Takes messages of a server or a worker, and tells all if the view has changed."""
        with ending_the_process():
            epoch = self.scheduler.view.epoch
            for packet in packets:
                self._take(sender, packet)
            self._announce(epoch)

    def _take(self, sender: Address, packet: Packet) -> None:
        try:
            message = wire.decode(packet[0] if packet else b"", TO_SCHEDULER)
        except Refused as refused:
            self._answer(sender, peers.Unwelcome(refused.detail))
            return
        answer = self.scheduler.handle(message, now())
        if isinstance(message, peers.Beat):
            if not (message.leaving or self.scheduler.is_former(message.run)):
                self.listeners[sender] = message.run
            elif self.listeners.get(sender) == message.run:
                del self.listeners[sender]
        if answer is not None:
            self._answer(sender, answer)

    def _answer(self, to: Address, message: wire.Message) -> None:
        if isinstance(to, bytes):
            self._post(to, pack(message))
        elif to is not None:  # Ray keeps a call for whichever process of the server comes next
            server, run = to
            self.sender.send(server, pack(message, [to_bytes(run)]))

    def _announce(self, epoch: int) -> None:
        """Tells whoever is there of the view, if it is no longer that of ``epoch``: nobody need wait for a beat."""
        if self.scheduler.forgot != self.said:
            self.said = self.scheduler.forgot
            print(self.said, file=sys.stderr, flush=True)
        if self.scheduler.view.epoch == epoch:
            return
        self.listeners = {who: run for who, run in self.listeners.items() if not self.scheduler.is_former(run)}
        for listener in self.listeners:
            self._answer(listener, peers.Heard(0, self.scheduler.view))

    async def _work(self) -> None:
        pause = TICK
        while True:
            begin = now()
            await asyncio.sleep(pause)
            if now() - begin > pause + self.config.beat:  # this process stood still, and has beats to take first
                pause = 2 * self.config.beat
                continue
            pause = TICK
            with ending_the_process():
                epoch = self.scheduler.view.epoch
                self.scheduler.tick(now())
                self._announce(epoch)
                self._forget()


def to_bytes(run: int) -> bytes:
    """Returns the number of a process as the frame that says for which one a message of the scheduler is."""
    return run.to_bytes(8, "little")
