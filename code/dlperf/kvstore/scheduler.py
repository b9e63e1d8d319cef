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
from dlperf.kvstore.files import write_whole
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

    scheduler = Scheduler(config, keep, now(), remembered(file, config) if file and file.exists() else None)
    servers = security.server_key(config.keys)
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
                _take(socket, scheduler, listeners, servers)
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


def remembered(file: Path, config: Config) -> Remembered:
    """Returns what a scheduler had put down; raises ValueError where that is damaged, or of another cluster."""
    try:
        found = msgspec.msgpack.decode(file.read_bytes(), type=Remembered)
    except msgspec.MsgspecError as error:
        raise ValueError(
            f"{file} is damaged, {error}: without it nobody knows which disk is the latest; to begin anew, give "
            "the scheduler and all servers an empty folder"
        ) from None
    had, has = (len(found.server_runs), len(found.worker_runs)), (len(config.servers), config.workers)
    if had != has:
        raise ValueError(
            f"{file} is of {had[0]} servers and {had[1]} workers, and the configuration has {has[0]} and {has[1]}: "
            "start with what it was made with, or give the servers and the scheduler an empty folder"
        )
    return found


def _take(socket: zmq.Socket, scheduler: Scheduler, listeners: dict[bytes, int], servers: bytes | None) -> None:
    """Takes what has come; ``servers`` is the key that who speaks for a server must have, if there are keys."""
    for _ in range(TURN):
        try:
            parts = socket.recv_multipart(zmq.NOBLOCK, copy=False)
        except zmq.Again:
            return
        address, header = parts[0].bytes, parts[1].bytes if len(parts) > 1 else b""
        try:
            message = wire.decode(header, TO_SCHEDULER)
            by_a_server = not isinstance(message, peers.Beat) or message.role == "server"
            if by_a_server and not security.is_from(parts[-1], servers):
                raise Refused("malformed", "only who has the key of servers speaks for one")
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
