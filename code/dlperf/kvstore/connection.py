"""A store that is connected by ZeroMQ: a thread sends, receives, and tells the scheduler that the worker is there."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from time import CLOCK_BOOTTIME, clock_gettime
from typing import Any

import zmq

from dlperf.kvstore import security, wire
from dlperf.kvstore.client import Client, Ticket
from dlperf.kvstore.config import Config, nearby
from dlperf.kvstore.errors import StoreError
from dlperf.kvstore.requests import Asked
from dlperf.kvstore.store import Pending, Store

POLL = 20
"""So many milliseconds pass at most until a timer is looked at."""

TURN = 64
"""So many messages of a server are taken in a row, before those of the others."""

NUDGE = 0.05
"""So many seconds pass between looks at what has no answer."""

LEAVE = 0.5
"""So many seconds may it take the scheduler to answer a worker that leaves."""


def now() -> float:
    """Returns seconds of a clock that also runs while the machine sleeps: leases end in their sleep."""
    return clock_gettime(CLOCK_BOOTTIME)


class Connection(Store):
    """A store over ZeroMQ. Raises `Unreachable` where no scheduler answers.

    The program's calls leave requests with the thread, and wake it by a socket; sockets belong to one thread each.
    """

    def __init__(self, config: Config, worker: int) -> None:
        super().__init__(config, worker)
        self._changed = threading.Condition()
        self._calls: deque[Callable[[], None]] = deque()
        self._calling = threading.Lock()
        self._context = zmq.Context()
        self._wake = self._context.socket(zmq.PAIR)
        self._wake.bind("inproc://wake")
        self._failed: BaseException | None = None
        self._ended = threading.Event()
        self._beaten = self._nudged = now()
        self._woken = self._context.socket(zmq.PAIR)
        self._woken.connect("inproc://wake")
        self._scheduler = self._dealer(config.scheduler)
        self._servers = [self._dealer(each, nearby(config, each)) for each in config.servers]
        servers = len(config.servers)
        self._client = Client(worker, servers, config.workers, self._send, self._beat, config.patience)
        self._thread = threading.Thread(target=self._work, name=f"store of worker {worker}", daemon=True)
        self._thread.start()
        self._enter()

    def _dealer(self, address: str, nearby: str | None = None) -> zmq.Socket:
        socket = self._context.socket(zmq.DEALER)
        socket.linger = 500
        socket.reconnect_ivl, socket.reconnect_ivl_max = 50, 500
        security.introduce(socket, "worker", self.config.keys)
        socket.connect(nearby or f"tcp://{address}")
        return socket

    def _submit(self, asked: Sequence[Asked], result: Any = None) -> Pending:
        self._check()
        tickets = [Ticket(each.message, each.frames, each.took) for each in asked]

        def begin() -> None:
            for ticket in tickets:
                self._client.submit(ticket, now())

        self._call(begin)
        if self._failed is not None:  # the thread may have ended before it came to this call
            for ticket in tickets:
                ticket.end(ticket.error or StoreError(f"this store has ended: {self._failed}"))
        return Pending(tickets, self._changed, result)

    def _check(self) -> None:
        if self._failed is not None:
            raise StoreError(f"this store has ended: {self._failed}") from self._failed

    def _call(self, fn: Callable[[], None]) -> None:
        with self._calling, suppress(zmq.Again):  # full: it is awake; nobody there: it has ended
            self._calls.append(fn)
            self._wake.send(b"", zmq.NOBLOCK)

    def close(self) -> None:
        if self._thread.is_alive():
            self._call(self._ended.set)
            self._thread.join()
        self._wake.close()
        self._context.term()

    # The thread.

    def _work(self) -> None:
        poller = zmq.Poller()
        for socket in (self._woken, self._scheduler, *self._servers):
            poller.register(socket, zmq.POLLIN)
        try:
            self._beat()
            while not self._ended.is_set():
                self._turn(poller)
            self._leave()
            self._failed = StoreError("it was closed")
        except BaseException as error:  # whoever waits must learn of it
            self._failed = error
        finally:
            while self._calls:
                self._calls.popleft()()
            self._client.abandon(StoreError(f"this store has ended: {self._failed}"))
            self._tell()
            self._ready.set()
            for socket in (self._woken, self._scheduler, *self._servers):
                socket.close(linger=500 if socket is self._scheduler else 0)

    def _leave(self) -> None:
        """Tells the scheduler, and waits for its word that rounds go on without this worker."""
        self._beat(leaving=True)
        end = now() + LEAVE
        while self.worker not in self._client.view.dropped and self._scheduler.poll(int(1000 * max(0.0, end - now()))):
            self._hear(self._scheduler.recv(), now())

    def _turn(self, poller: zmq.Poller) -> None:
        """Takes what has come, from the program and from servers, and looks at the timers."""
        for socket, _ in poller.poll(POLL):
            if socket is self._woken:
                self._woken.recv()
            elif socket is self._scheduler:
                self._hear(socket.recv(), now())
            else:
                self._take(socket)
        while self._calls:
            self._calls.popleft()()
        if now() - self._beaten > self.config.beat:
            self._beat()
        if now() - self._nudged > NUDGE:
            self._nudged = now()
            self._client.nudge(now())
        self._tell()

    def _tell(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _take(self, socket: zmq.Socket) -> None:
        for _ in range(TURN):
            try:
                frames = socket.recv_multipart(zmq.NOBLOCK, copy=False)
            except zmq.Again:
                return
            self._client.receive([frame.buffer for frame in frames], now())

    def _send(self, server: int, message: wire.Message, frames: Sequence[Any]) -> None:
        with suppress(zmq.Again):  # the queue is full; it is sent again later
            self._servers[server].send_multipart([wire.encode(message), *frames], zmq.NOBLOCK, copy=False)

    def _beat(self, leaving: bool = False) -> None:
        self._beaten = now()
        with suppress(zmq.Again):
            self._scheduler.send(wire.encode(self._here(leaving)), zmq.NOBLOCK)
