"""The same cluster as actors of Ray: servers and the scheduler without sockets, whose messages are calls of a method.

Ray starts an actor again when its process or its node died. What it had in memory is gone: the chain fills it up, or
its disk does, if the folder is one that every node reaches. Ray has no authentication but the network's: whoever
reaches it can run what he likes. Source: Moritz et al., Ray: a distributed framework for emerging AI applications,
OSDI 2018.
"""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from dlperf.kvstore import peers, wire
from dlperf.kvstore.config import Config
from dlperf.kvstore.connection import now
from dlperf.kvstore.journal import Journal, write_whole
from dlperf.kvstore.node import Node
from dlperf.kvstore.ray_post import QUEUE, Letter, Post, find, letter, ray
from dlperf.kvstore.scheduling import Remembered, Scheduler
from dlperf.kvstore.server import NoDisk

TO_SCHEDULER = wire.decoder(peers.ToScheduler)
TICK = 0.05
"""So many seconds pass between the scheduler's looks at who is late."""


class Mailbox:
    """Letters for a worker, which is no actor and comes to fetch them; when it last did."""

    def __init__(self) -> None:
        self.letters: deque[Letter] = deque(maxlen=QUEUE)
        self.came, self.asked = asyncio.Event(), now()


class Actor:
    """What servers and the scheduler have in common: they take letters, and keep some for workers."""

    def __init__(self, config: bytes, me: int | None) -> None:
        self.config = msgspec.json.decode(config, type=Config)
        self.post = Post(me, lambda to: find(self.config, to))
        self.boxes: dict[bytes, Mailbox] = {}
        self.timer = asyncio.get_running_loop().create_task(_or_end(self._work()))

    async def answers(self, address: bytes, seconds: float) -> list[Letter]:
        """Returns the letters for a worker; waits so long for the first."""
        box = self.boxes.setdefault(address, Mailbox())
        box.asked = now()
        if not box.letters:
            box.came.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(box.came.wait(), seconds)
        found = list(box.letters)
        box.letters.clear()
        return found

    async def node_id(self) -> str:
        """Returns the node on which it runs now."""
        return str(ray.get_runtime_context().get_node_id())

    def _send(self, to: int | bytes | None, sent: Letter) -> None:
        if isinstance(to, bytes):
            box = self.boxes.setdefault(to, Mailbox())
            box.letters.append(sent)
            box.came.set()
        else:
            self.post.send(to, sent)

    def _forget(self) -> None:
        """Drops what nobody has come for."""
        for address, box in list(self.boxes.items()):
            if now() - box.asked > 2 * self.config.dead:
                del self.boxes[address]

    async def _work(self) -> None:
        raise NotImplementedError


async def _or_end(work: Coroutine[Any, Any, None]) -> None:
    """Ends the process where something fails in it, as that of a server without Ray does: Ray starts another."""
    try:
        await work
    except Exception:
        traceback.print_exc()
        os._exit(1)


class ServerActor(Actor):
    """Server ``me``: a `Node`, whose process is Ray's."""

    def __init__(self, config: bytes, me: int) -> None:
        super().__init__(config, me)
        disk = Path(self.config.disk) / f"server-{me}" if self.config.disk else None
        self.journal = Journal(disk, self.config.sync == "always") if disk else NoDisk()
        self.outbox: list[tuple[int | bytes | None, Letter]] = []
        run = int.from_bytes(os.urandom(7))
        self.node = Node(self.config, me, run, self._put, self.journal, now, self.journal.found())

    async def take(self, sender: int | bytes | None, letters: list[Letter]) -> None:
        """Takes letters of a server, the scheduler (None) or a worker; what follows is sent when the disk has it."""
        await _or_end(self._take(sender, letters))
        if self.node.unwelcome:
            print(self.node.unwelcome, file=sys.stderr)
            ray.actor.exit_actor()  # and Ray does not start it again

    async def _take(self, sender: int | bytes | None, letters: list[Letter]) -> None:
        for each in letters:
            frames = [memoryview(frame) for frame in each]
            if sender is None:
                self.node.heard(frames)
            elif isinstance(sender, int):
                self.node.back(sender, frames)
            else:
                self.node.front(sender, frames)
        self._flush()

    def _put(self, role: str, to: Any, message: wire.Message, frames: Any) -> None:
        self.outbox.append((None if role == "scheduler" else to, letter(message, frames)))

    def _flush(self) -> None:
        self.journal.flush()
        for to, sent in self.outbox:
            self._send(to, sent)
        self.outbox.clear()

    async def _work(self) -> None:
        while True:
            await asyncio.sleep(self.config.beat)
            self.node.beat()
            self.node.nudge()
            self._flush()
            self._forget()


class SchedulerActor(Actor):
    """The scheduler, whose process is Ray's."""

    def __init__(self, config: bytes) -> None:
        super().__init__(config, None)
        self.file = Path(self.config.disk) / "scheduler" if self.config.disk else None
        there = self.file is not None and self.file.exists()
        before = msgspec.msgpack.decode(self.file.read_bytes(), type=Remembered) if self.file and there else None
        self.scheduler = Scheduler(self.config, self._keep, now(), before)
        self.listeners: dict[int | bytes, int] = {}

    def _keep(self, state: Remembered) -> None:
        if self.file:
            self.file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self.file, [msgspec.msgpack.encode(state)], self.config.sync == "always")

    async def take(self, sender: int | bytes, letters: list[Letter]) -> None:
        """Takes letters of a server or a worker."""
        await _or_end(self._take(sender, letters))

    async def _take(self, sender: int | bytes, letters: list[Letter]) -> None:
        for each in letters:
            message = wire.decode(each[0], TO_SCHEDULER)
            self._and_tell_all(partial(self._handle, sender, message))

    def _handle(self, sender: int | bytes, message: Any) -> None:
        answer = self.scheduler.handle(message, now())
        if isinstance(message, peers.Beat):
            if not (message.leaving or self.scheduler.is_former(message.run)):
                self.listeners[sender] = message.run
            elif self.listeners.get(sender) == message.run:
                del self.listeners[sender]
        if answer is not None:
            self._send(sender, letter(answer))

    def _and_tell_all(self, act: Callable[[], object]) -> None:
        epoch = self.scheduler.view.epoch
        act()
        if self.scheduler.view.epoch != epoch:
            for listener, process in self.listeners.items():
                if not self.scheduler.is_former(process):
                    self._send(listener, letter(peers.Heard(0, self.scheduler.view)))

    async def _work(self) -> None:
        while True:
            await asyncio.sleep(TICK)
            self._and_tell_all(lambda: self.scheduler.tick(now()))
            self._forget()
