"""A server's process: its sockets, its disk, and the loop that turns messages into others."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import zmq

from dlperf.kvstore import metrics, security, wire
from dlperf.kvstore.config import Config, nearby, next_port
from dlperf.kvstore.connection import now
from dlperf.kvstore.errors import StoreError
from dlperf.kvstore.journal import Journal
from dlperf.kvstore.node import Node
from dlperf.kvstore.ranges import Range
from dlperf.kvstore.replica import Frames

TURN = 64
"""So many messages of a socket are taken in a row, before those of the others."""

QUEUE = 64
"""So many messages may wait in a socket for each of its neighbours."""

NUDGE = 0.25
"""So many seconds pass between looks at what has no answer."""


class NoDisk:
    """For a server that keeps nothing but in memory."""

    def append(self, number: int, index: int, frames: Frames) -> None: ...
    def replace(self, number: int, range_: Range) -> None: ...
    def drop(self, number: int) -> None: ...
    def flush(self) -> None: ...
    def since(self, number: int, index: int) -> list[Frames]:
        return []

    def found(self, config: Config) -> dict[int, Range]:
        return {}


class Server:
    """Server ``me`` of a cluster. Raises `StoreError` where the scheduler will not have it."""

    def __init__(self, config: Config, me: int) -> None:
        if not 0 <= me < len(config.servers):
            raise ValueError(f"servers are 0 to {len(config.servers) - 1}, got {me}")
        self.config, self.me = config, me
        disk = Path(config.disk) / f"server-{me}" if config.disk else None
        self.journal = Journal(disk, config.sync == "always") if disk else NoDisk()
        found = self.journal.found(config)
        self.context = zmq.Context()
        self.doorkeeper = security.doorkeeper(self.context, config.keys)
        self.front = self._listen(config.servers[me], security.WORKERS)
        if unix := nearby(config, config.servers[me]):
            self.front.bind(unix)
        self.back = self._listen(next_port(config.servers[me]), security.SERVERS)
        self.scheduler = self._call(config.scheduler)
        self.peers = {each: self._call(next_port(a)) for each, a in enumerate(config.servers) if each != me}
        self.ended = [socket.get_monitor_socket(zmq.EVENT_DISCONNECTED) for socket in (self.front, self.back)]
        self.poller = zmq.Poller()
        for socket in (self.front, self.back, self.scheduler, *self.ended):
            self.poller.register(socket, zmq.POLLIN)
        self.outbox: list[tuple[zmq.Socket, list[Any]]] = []
        run = int.from_bytes(os.urandom(7))
        self.node = Node(config, me, run, self._send, self.journal, now, found)
        self.metrics = metrics.Metrics(self.node)

    def _listen(self, address: str, domain: str) -> zmq.Socket:
        socket = self.context.socket(zmq.ROUTER)
        socket.linger = 200
        socket.router_handover = True
        socket.router_mandatory = True  # else what a full queue does not take is dropped, and nobody hears of it
        socket.sndhwm = socket.rcvhwm = QUEUE
        security.guard(socket, domain, self.config.keys)
        socket.bind(f"tcp://{address}")
        return socket

    def _call(self, address: str) -> zmq.Socket:
        socket = self.context.socket(zmq.DEALER)
        socket.linger = 200
        socket.sndhwm = socket.rcvhwm = QUEUE
        socket.reconnect_ivl, socket.reconnect_ivl_max = 50, 500
        socket.routing_id = b"server %d" % self.me
        security.introduce(socket, "server", self.config.keys)
        socket.connect(f"tcp://{address}")
        return socket

    def run(self) -> None:
        """Serves until it is told to stop (SIGTERM): then it leaves the cluster first, which goes on without it."""
        signal.signal(signal.SIGTERM, lambda *_: setattr(self.node, "leaving", True))
        beaten = nudged = float("-inf")
        leaving_since = None
        try:
            while not self.node.has_left:
                if now() - beaten > self.config.beat:
                    beaten = now()
                    self.node.beat()
                if now() - nudged > NUDGE:
                    nudged = now()
                    self.node.nudge()
                self.turn()
                if self.node.unwelcome:
                    raise StoreError(self.node.unwelcome)
                if self.node.leaving:
                    leaving_since = leaving_since or now()
                    if now() - leaving_since > self.config.dead:
                        return  # nobody answers: what was acknowledged is with the others, or on the disk
        finally:
            self.close()

    def turn(self, wait: int = 20) -> None:
        """Takes what has come, after ``wait`` ms at most; what follows is sent when the disk has it."""
        for socket, _ in self.poller.poll(wait):
            for _ in range(TURN):
                try:
                    frames = socket.recv_multipart(zmq.NOBLOCK, copy=False)
                except zmq.Again:
                    break
                self._take(socket, [frame.buffer for frame in frames])
        self.journal.flush()
        for socket, frames in self.outbox:
            try:
                socket.send_multipart(frames, zmq.NOBLOCK, copy=False)
            except zmq.ZMQError:  # its queue is full, or it is gone: whoever lacks the message will ask again
                self.metrics.unsent += 1
        self.outbox.clear()

    def _take(self, socket: zmq.Socket, frames: Sequence[Any]) -> None:
        if socket is self.scheduler:
            self.node.heard(frames)
        elif socket in self.ended:
            self.metrics.disconnected += 1
        elif socket is self.front:
            begin = perf_counter()
            range_ = self.node.front(bytes(frames[0]), frames[1:])
            self.metrics.served(begin, range_, frames)
        else:
            self.node.back(_number(bytes(frames[0])), frames[1:])

    def _send(self, role: str, to: Any, message: wire.Message, frames: Frames) -> None:
        header = wire.encode(message)
        if role == "worker":
            self.outbox.append((self.front, [to, header, *frames]))
        elif role == "server":
            self.outbox.append((self.peers[to], [header, *frames]))
        else:
            self.outbox.append((self.scheduler, [header]))
        self.metrics.sent(role, len(header) + sum(map(len, frames)))

    def close(self) -> None:
        self.journal.flush()
        if self.doorkeeper:
            self.doorkeeper.stop()
        self.context.destroy(linger=200)


def _number(identity: bytes) -> int:
    """Returns which server has an identity; -1 for none."""
    name, _, number = identity.partition(b" ")
    return int(number) if name == b"server" and number.isdigit() and len(number) < 6 else -1
