"""A store that is connected by Ray: a thread sends, fetches what servers have for it, and tells that it is there."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

from dlperf.kvstore import wire
from dlperf.kvstore.client import Client, Ticket
from dlperf.kvstore.config import Config
from dlperf.kvstore.connection import LEAVE, NUDGE, now
from dlperf.kvstore.errors import StoreError
from dlperf.kvstore.ray_messages import Packet, Sender, find, pack, ray
from dlperf.kvstore.requests import Asked
from dlperf.kvstore.store import Pending, Store

POLL = 1.0
"""So many seconds does a server keep a worker waiting that comes for its answers."""

AGAIN = 0.1
"""So many seconds pass until one that is down is asked again."""


class RayStore(Store):
    """A store on Ray's actors. Raises `Unreachable` where there is no scheduler, and StoreError without a Ray.

    The program's calls leave requests with the thread, which has an event loop.
    """

    def __init__(self, config: Config, worker: int) -> None:
        super().__init__(config, worker)
        check_ray()
        self._changed, self._calling = threading.Condition(), threading.Lock()
        self._failed: BaseException | None = None
        self._address = b"worker %d %d" % (worker, self._run)
        self._sender = Sender(self._address, lambda to: find(config, to))
        servers = len(config.servers)
        self._client = Client(worker, servers, config.workers, self._send, self._beat, config.patience)
        self._loop = asyncio.new_event_loop()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=self._work, name=f"store of worker {worker}", daemon=True)
        self._thread.start()
        self._enter()

    def _submit(self, asked: Sequence[Asked], result: Any = None) -> Pending:
        self._check()
        tickets = [Ticket(each.message, each.frames, each.took) for each in asked]

        def begin() -> None:
            for ticket in tickets:
                self._client.submit(ticket, now())
            self._tell()

        if not self._call(begin):
            for ticket in tickets:
                ticket.end(StoreError(f"this store has ended: {self._failed}"))
        return Pending(tickets, self._changed, result)

    def _check(self) -> None:
        if self._failed is not None:
            raise StoreError(f"this store has ended: {self._failed}") from self._failed

    def _call(self, fn: Callable[[], object]) -> bool:
        """Has the thread call something; returns whether it will."""
        with self._calling:
            if self._failed is None:
                self._loop.call_soon_threadsafe(fn)
            return self._failed is None

    def close(self) -> None:
        self._call(self._ended.set)
        self._thread.join()

    # The thread.

    def _work(self) -> None:
        try:
            self._loop.run_until_complete(self._live())
        except BaseException as error:  # whoever waits must learn of it
            self._end(error)
        else:
            self._end(StoreError("it was closed"))
        self._loop.close()

    def _end(self, error: BaseException) -> None:
        with self._calling:
            self._failed = error
        for _ in range(2):  # what the program has called before may begin tasks
            self._loop.run_until_complete(_cancel_others())
        self._client.abandon(StoreError(f"this store has ended: {error}"))
        with self._changed:
            self._changed.notify_all()
        self._ready.set()

    async def _live(self) -> None:
        """Does all at once until the store is closed, or something fails."""
        listening = [self._listen(server, self._take) for server in range(len(self.config.servers))]
        all_ = [self._listen(None, self._take_word), *listening, self._beats(), self._nudges(), self._ended.wait()]
        tasks = [asyncio.ensure_future(each) for each in all_]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        self._beat(leaving=True)
        await self._sender.flush(None, LEAVE)

    async def _listen(self, to: int | None, take: Callable[[Packet], None]) -> None:
        """Fetches what a server, or the scheduler, has for this worker, as soon as it has."""
        actor = None
        while True:
            try:
                check_ray()
                actor = actor or find(self.config, to)
                packets = await actor.answers.remote(self._address, POLL)
            except (ray.exceptions.RayError, ValueError):  # it is down, or not up yet
                actor = None
                await asyncio.sleep(AGAIN)
                continue
            for packet in packets:
                take([memoryview(frame) for frame in packet])
            self._tell()

    async def _beats(self) -> None:
        while True:
            check_ray()
            self._beat()
            await asyncio.sleep(self.config.beat)

    async def _nudges(self) -> None:
        while True:
            await asyncio.sleep(NUDGE)
            self._client.nudge(now())
            self._tell()

    def _tell(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _take(self, frames: Packet) -> None:
        self._client.receive(frames, now())

    def _take_word(self, frames: Packet) -> None:
        self._hear(frames[0], now())

    def _send(self, server: int, message: wire.Message, frames: Sequence[Any]) -> None:
        self._sender.send(server, pack(message, frames))

    def _beat(self, leaving: bool = False) -> None:
        self._sender.send(None, pack(self._here(leaving)))


def check_ray() -> None:
    """Raises StoreError where there is no Ray: a call would begin one of its own."""
    if not ray.is_initialized():
        raise StoreError("this process has joined no Ray, or left it: call ray.init first")


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    if others:
        await asyncio.wait(others, timeout=1)
