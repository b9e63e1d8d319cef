"""Links: how long a message takes from one core, process or host to another, by its size.

One end sends a message and waits for a byte that says it is there. The loops are compiled and call the system's
``read`` and ``write``, or watch a cache line (`dlperf.hardware.core_to_core`). The chapter *Hardware* tells the story.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from functools import partial
from typing import Any

import numpy as np
from numba import njit, types

from dlperf import network
from dlperf.environment import cores, environment
from dlperf.hardware import core_to_core
from dlperf.hardware.probe import Unknown, probe
from dlperf.hardware.threads import at_once
from dlperf.measurement import Measurement
from dlperf.turns import interleave

PORT = 5001
"""Where the second host listens for the first."""

PIECE = 2**17
"""The bytes that an endless message is handed over in, as `iperf3` does."""

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
def push(file: int, message: Any, pieces: int, rounds: int) -> bool:
    """Sends a message in ``pieces``, then waits for a byte; repeatedly."""
    fine = True
    for _ in range(rounds):
        for _ in range(pieces):
            fine = fine and send(file, message)
        fine = fine and receive(file, message[:1])
    return fine


@njit(nogil=True, cache=True)
def take(file: int, message: Any, pieces: int, rounds: int) -> bool:
    """Takes what `push` sends."""
    fine = True
    for _ in range(rounds):
        for _ in range(pieces):
            fine = fine and receive(file, message)
        fine = fine and send(file, message[:1])
    return fine


class Within(StrEnum):
    """By what messages go within a machine: shared memory, a Unix socket, TCP on loopback."""

    MEMORY = "memory"
    UNIX = "unix"
    LOOPBACK = "loopback"


@contextmanager
def sockets(kind: Within) -> Iterator[tuple[int, int]]:
    """Yields the descriptors of both ends of a connection within this machine, which shared memory has not."""
    if kind is Within.UNIX:
        near, far = socket.socketpair()
    else:
        with socket.create_server(("127.0.0.1", 0)) as server:
            near = socket.create_connection(server.getsockname())
            far, _ = server.accept()
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a short message does not wait for more
    with near, far:
        yield near.fileno(), far.fileno()


Trips = Callable[[int, int], float]
"""Sends so many bytes so many times; returns the seconds."""


@contextmanager
def within(kind: Within | str) -> Iterator[Trips]:
    """Yields what sends messages between two cores of this machine, by one of `Within`.

    The two ends are threads, each on a core of its own where there are two. Raises ValueError if ``kind`` names none of
    `Within`, and `Unknown` for memory on one core, where one end would wait for the other until the system takes the
    core away.
    """
    kind = Within(kind)
    if kind is Within.MEMORY:
        if cores() < 2:
            raise Unknown("to send from core to core takes two cores; this process may use one")
        yield core_to_core.trips
        return
    with sockets(kind) as (near, far):

        def trips(size: int, rounds: int) -> float:
            piece, pieces = _pieces(size)
            mine, theirs = np.ones(piece, np.uint8), np.ones(piece, np.uint8)  # touched: they have their pages
            spent = 0.0

            def pushes() -> None:
                nonlocal spent
                push(near, mine, 1, 1)  # both have begun: to start threads takes longer than many messages
                start = time.perf_counter()
                push(near, mine, pieces, rounds)
                spent = time.perf_counter() - start

            at_once([pushes, lambda: take(far, theirs, 1, 1) and take(far, theirs, pieces, rounds)])
            return spent

        yield trips


def _pieces(size: int) -> tuple[int, int]:
    """Returns the size and number of the pieces that a message is handed over in: one, unless it is very long."""
    return (size, 1) if size <= 2**23 else (PIECE, size // PIECE)


@contextmanager
def over(link: network.Network) -> Iterator[Trips]:
    """Yields what sends messages from the first host of ``link`` to the second, by TCP."""
    link.run(_connect)
    yield lambda size, rounds: link.run(_trips, size, rounds)[0]


_held: list[socket.socket] = []


def _connect(rank: int) -> None:
    """Connects the two hosts and keeps the connection."""
    if rank == 1:
        with socket.create_server(("10.0.0.2", PORT)) as server:
            end, _ = server.accept()
    else:
        end = _reach("10.0.0.2")
    end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    _held.append(end)


def _reach(address: str, tries: int = 6000) -> socket.socket:
    """Returns a connection to the host that listens; on a busy machine it may take its time to begin."""
    for _ in range(tries - 1):
        try:
            return socket.create_connection((address, PORT))
        except OSError:
            time.sleep(0.02)
    return socket.create_connection((address, PORT))


def _trips(rank: int, size: int, rounds: int) -> float:
    """Returns the seconds of so many messages, after some that use up what the link's bucket has saved."""
    piece, pieces = _pieces(size)
    message, file = np.ones(piece, np.uint8), _held[-1].fileno()
    end = push if rank == 0 else take
    end(file, message, 1, min(50, 1 + 2**18 // size) if size > 1000 else 1)
    start = time.perf_counter()
    if not end(file, message, pieces, rounds):
        raise ConnectionError(f"host {rank} lost its connection after at most {rounds} messages of {size} bytes")
    return time.perf_counter() - start


def by_size(trips: Trips, sizes: Sequence[int], samples: int = 11, seconds: float = 0.002) -> list[Measurement]:
    """Returns the time until a message is known to be there, by its size in bytes.

    A sample is of about so many ``seconds``; sizes take turns, so that a bad moment falls on all of them.
    """
    rounds = {}
    for size in sizes:
        trips(size, 1)  # compiles
        tried = 1
        while (took := trips(size, tried)) < seconds and tried < 2**20:
            tried *= 4
        rounds[size] = max(1, round(seconds * tried / took))
    taken = interleave({n: partial(trips, n, rounds[n]) for n in sizes}, samples, warm_up=0)
    here = environment("cpu")
    return [taken[n].per_call(f"{n} B", rounds[n], here) for n in sizes]


def bandwidth(trips: Trips, size: int = 2**28) -> float:
    """Returns the bytes per second of a message of ``size`` bytes, sent in pieces without waiting in between."""
    return size / trips(size, 1)


@probe("round trip on loopback", "one byte by TCP between two cores, each waiting in the system's read")
def round_trip() -> Measurement:
    with within(Within.LOOPBACK) as trips:
        return by_size(trips, [1])[0]


@probe("bandwidth on loopback", "TCP between two cores, in pieces of 128 KiB; nothing leaves the machine")
def loopback_bandwidth() -> Measurement:
    with within(Within.LOOPBACK) as trips:
        rates = tuple(bandwidth(trips) for _ in range(5))
    return Measurement(rates, "B/s", "bandwidth on loopback", 1, environment("cpu"))


@probe("core to core", "half of the time in which a flag goes to another core and another flag comes back")
def flag_to_core() -> Measurement:
    with within(Within.MEMORY) as trips:
        trip = by_size(trips, [0], seconds=0.01)[0]
    one_way = tuple(t / 2 for t in trip.samples)
    return Measurement(one_way, "s", "core to core", trip.calls_per_sample, trip.environment)


@probe("4 KiB over 10 Gbit/s", "TCP between two network namespaces whose link is limited to that rate, with its answer")
def over_ten_gigabit() -> Measurement:
    try:
        with network.Network(2, 10 * network.GIGABIT) as link, over(link) as trips:
            return by_size(trips, [4096])[0]
    except network.Unavailable as why:
        raise Unknown(str(why)) from None


PROBES = (round_trip, loopback_bandwidth, flag_to_core, over_ten_gigabit)
