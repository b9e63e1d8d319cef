"""The scheduler's process: one socket, and a file for what it has decided."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import msgspec
import zmq

from dlperf.kvstore import peers, security, wire
from dlperf.kvstore.config import Config
from dlperf.kvstore.connection import now
from dlperf.kvstore.errors import Refused
from dlperf.kvstore.journal import write_whole
from dlperf.kvstore.scheduling import Remembered, Scheduler

TO_SCHEDULER = wire.decoder(peers.ToScheduler)
TURN = 10_000
"""So many messages at most are taken before anybody is given up: who has reported meanwhile is among them."""


def run(config: Config) -> None:
    """Schedules until it is told to stop (SIGTERM)."""
    stopping: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopping.append(number))
    file = Path(config.disk) / "scheduler" if config.disk else None

    def keep(state: Remembered) -> None:
        if file:
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, [msgspec.msgpack.encode(state)], config.sync == "always")

    before = msgspec.msgpack.decode(file.read_bytes(), type=Remembered) if file and file.exists() else None
    scheduler = Scheduler(config, keep, now(), before)
    context = zmq.Context()
    doorkeeper = security.doorkeeper(context, config.keys)
    socket = context.socket(zmq.ROUTER)
    socket.linger = 200
    socket.router_handover = True  # a machine that lost power has closed no connection, and its successor has its name
    security.guard(socket, security.WORKERS, config.keys)
    socket.bind(f"tcp://{config.scheduler}")
    listeners: dict[bytes, int] = {}
    told = ""
    try:
        while not stopping:
            epoch = scheduler.view.epoch
            if socket.poll(20):
                _take(socket, scheduler, listeners)
            scheduler.tick(now())
            if scheduler.forgot and not told:
                told = scheduler.forgot
                print(told, file=sys.stderr, flush=True)
            if scheduler.view.epoch != epoch:  # whoever is there need not wait for the next beat to learn of it
                for address, process in listeners.items():
                    if not scheduler.is_former(process):
                        socket.send_multipart([address, wire.encode(peers.Heard(0, scheduler.view))])
    finally:
        if doorkeeper:
            doorkeeper.stop()
        context.destroy(linger=200)


def _take(socket: zmq.Socket, scheduler: Scheduler, listeners: dict[bytes, int]) -> None:
    for _ in range(TURN):
        try:
            address, *frames = socket.recv_multipart(zmq.NOBLOCK)
        except zmq.Again:
            return
        try:
            message = wire.decode(frames[0] if frames else b"", TO_SCHEDULER)
        except Refused as refused:
            socket.send_multipart([address, wire.encode(peers.Unwelcome(refused.detail))])
            continue
        answer = scheduler.handle(message, now())
        if isinstance(message, peers.Beat):
            if not (message.leaving or scheduler.is_former(message.run)):
                listeners[address] = message.run
            elif listeners.get(address) == message.run:
                del listeners[address]
        if answer is not None:
            socket.send_multipart([address, wire.encode(answer)])
