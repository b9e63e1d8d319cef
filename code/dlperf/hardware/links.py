"""Links: how long a message takes from one core, process or host to another, by its size.

Two loops send one message to and fro. They are compiled and call the system's ``read`` and ``write``, or watch a
cache line. The chapter *Hardware* tells the story.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numba import njit, types

from dlperf import network
from dlperf.environment import cores, environment
from dlperf.hardware import lines
from dlperf.hardware.probe import Unknown, probe
from dlperf.hardware.threads import at_once
from dlperf.measurement import Measurement

_call = types.int64(types.int32, types.uintp, types.uintp)
_read: Any = types.ExternalFunction("read", _call)
_write: Any = types.ExternalFunction("write", _call)


@njit(nogil=True, cache=True)
def send(file: int, message: Any) -> bool:
    """Sends all of ``message``, an array of bytes, however few the system takes at a time."""
    sent = 0
    while sent < message.size:
        more = _write(file, message.ctypes.data + sent, message.size - sent)
        if more <= 0:
            return False
        sent += more
    return True


@njit(nogil=True, cache=True)
def receive(file: int, message: Any) -> bool:
    """Fills all of ``message``, an array of bytes."""
    come = 0
    while come < message.size:
        more = _read(file, message.ctypes.data + come, message.size - come)
        if more <= 0:
            return False
        come += more
    return True


@njit(nogil=True, cache=True)
def ping(file: int, message: Any, rounds: int) -> bool:
    """Sends a message and waits for it to come back, ``rounds`` times."""
    fine = True
    for _ in range(rounds):
        fine = fine and send(file, message) and receive(file, message)
    return fine


@njit(nogil=True, cache=True)
def pong(file: int, message: Any, rounds: int) -> bool:
    """Waits for a message and sends it back, ``rounds`` times."""
    fine = True
    for _ in range(rounds):
        fine = fine and receive(file, message) and send(file, message)
    return fine


@contextmanager
def sockets(kind: str) -> Iterator[tuple[int, int]]:
    """Yields the descriptors of both ends of a connection within this machine: ``loopback`` (TCP) or ``unix``."""
    if kind == "unix":
        near, far = socket.socketpair()
    else:
        with socket.create_server(("127.0.0.1", 0)) as server:
            near = socket.create_connection(server.getsockname())
            far, _ = server.accept()
            _at_once(near, far)
    with near, far:
        yield near.fileno(), far.fileno()


def _at_once(*connections: socket.socket) -> None:
    """Makes TCP send short messages without waiting for more."""
    for connection in connections:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def within(kind: str, sizes: Sequence[int], samples: int = 5) -> list[Measurement]:
    """Returns half the time of a round trip by size, between two cores: ``memory``, ``unix`` or ``loopback``.

    The two ends are threads, each on a core of its own where there are two. Raises `Unknown` for ``memory`` on one
    core, where one end would wait for the other until the system takes the core away.
    """
    if kind == "memory":
        if cores() < 2:
            raise Unknown("one core cannot wait for another")
        return [_timed(_memory(size), size, samples) for size in sizes]
    with sockets(kind) as (near, far):
        return [_timed(_connected(near, far, size), size, samples) for size in sizes]


def _memory(size: int) -> Callable[[int], float]:
    flags, shared = np.zeros(32, np.int64), np.zeros(max(size, 1), np.uint8)
    mine, theirs = np.zeros(size, np.uint8), np.zeros(size, np.uint8)

    def trips(rounds: int) -> float:
        flags[:] = 0
        ends = lambda: lines.ping(flags, shared, mine, rounds), lambda: lines.pong(flags, shared, theirs, rounds)
        return at_once(ends)

    return trips


def _connected(near: int, far: int, size: int) -> Callable[[int], float]:
    mine, theirs = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
    return lambda rounds: at_once([lambda: ping(near, mine, rounds), lambda: pong(far, theirs, rounds)])


def _timed(trips: Callable[[int], float], size: int, samples: int, seconds: float = 0.02) -> Measurement:
    """Returns half of a round trip's time, of samples of about so many ``seconds``."""
    trips(1)  # compiles
    tried = 4
    while (took := trips(tried)) < seconds / 8 and tried < 2**20:
        tried *= 4
    rounds = max(1, round(tried * seconds / took))
    taken = tuple(trips(rounds) / rounds / 2 for _ in range(samples))
    return Measurement(taken, "s", f"{size} B", rounds, environment("cpu"))
