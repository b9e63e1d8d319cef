"""What the tests of a network have its hosts do, in a module that a host imports quickly."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from time import monotonic, perf_counter, sleep

from dlperf import network
from dlperf.network import address
from tests.processes import DEADLINE_S


def hello(rank: int, word: str) -> tuple[str, int]:
    return word, rank


def surroundings(rank: int) -> tuple[str | None, str | None, str]:
    return os.environ.get("WHO_MADE_IT"), os.environ.get("HOME"), os.getcwd()


def has_imported(rank: int, names: list[str]) -> bool:
    return all(name in sys.modules for name in names)


def threads(rank: int) -> int:
    """Returns how many threads PyTorch computes with here."""
    import torch

    return torch.get_num_threads()


def identity(rank: int) -> tuple[str, list[str]]:
    return os.readlink("/proc/self/ns/net"), [name for _, name in socket.if_nameindex()]


def fail(rank: int) -> None:
    if rank == 1:
        raise ValueError("no such gradient")


def die(rank: int) -> None:
    os._exit(3)


def shout(rank: int) -> int:
    """Writes more than a pipe holds."""
    for stream in (sys.stdout, sys.stderr):
        stream.write("no such gradient\n" * 20_000)
        stream.flush()
    return rank


def leave_a_child(rank: int) -> None:
    """Leaves behind a process that nobody waits for, in a session of its own."""
    subprocess.Popen(["sleep", "1000"], start_new_session=True)


def connects(rank: int, port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S).close()
    except OSError:
        return False
    return True


def reach(port: int) -> socket.socket:
    """Returns a connection to host 1, as soon as that listens."""
    end = monotonic() + DEADLINE_S
    while True:
        try:
            connection = socket.create_connection((address(1), port))
            break
        except ConnectionRefusedError:
            if monotonic() > end:
                raise
            sleep(0.02)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def accept(port: int) -> socket.socket:
    """Returns host 0's connection to this one, host 1."""
    with socket.create_server((address(1), port)) as server:
        connection, _ = server.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def trickle(rank: int, size: int) -> float:
    """Sends ``size`` bytes from host 0 to host 1 by plain TCP; returns the seconds that they took to come.

    Host 0 sends nothing before the clock of host 1 has started.
    """
    if rank == 0:
        with reach(5000) as connection:
            connection.recv(1)
            connection.sendall(bytes(size))
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)
        return 0.0
    with accept(5000) as connection:
        start, left = perf_counter(), size
        connection.sendall(b"!")
        while left:
            left -= len(connection.recv(2**20))
        return perf_counter() - start


def trickle_of_two(rank: int, size: int) -> float:
    return trickle(rank, size) if rank < 2 else 0.0


def ping_pong(rank: int, count: int) -> list[float]:
    """Returns the seconds of so many round trips of a byte from host 0 to host 1."""
    with reach(5001) if rank == 0 else accept(5001) as connection:
        trips = []
        for _ in range(count):
            start = perf_counter()
            if rank == 0:
                connection.sendall(b"x")
            connection.recv(1)
            if rank == 1:
                connection.sendall(b"x")
            trips.append(perf_counter() - start)
    return trips if rank == 0 else []


def ping_pong_of_two(rank: int, count: int) -> list[float]:
    return ping_pong(rank, count) if rank < 2 else []


held: list[socket.socket] = []


def connect(rank: int) -> None:
    """Connects the hosts, and keeps the connection for calls to come."""
    held.append(reach(5002) if rank == 0 else accept(5002))


def say(rank: int, word: bytes, patience: float, sent: str = "") -> bytes:
    """Sends a word from host 0 to host 1; returns what came within so many seconds.

    Host 0 makes the file ``sent``, if it is given, when it has sent the word.
    """
    if rank == 0:
        held[-1].sendall(word)
        if sent:
            Path(sent).touch()
        return b""
    return listen(rank, patience)


def listen(rank: int, patience: float) -> bytes:
    """Returns what comes to host 1 within so many seconds."""
    if rank == 0:
        return b""
    held[-1].settimeout(patience)
    try:
        return held[-1].recv(2**16)
    except TimeoutError:
        return b""


def listen_for_connections(rank: int) -> None:
    """Opens a port of host 0, and keeps it open for calls to come."""
    if rank == 0:
        held.append(socket.create_server((address(0), 5003)))


def can_connect(rank: int, patience: list[float]) -> bool:
    """Returns whether a host gets a connection to that port within the seconds that it is given."""
    try:
        socket.create_connection((address(0), 5003), timeout=patience[rank]).close()
    except OSError:  # no answer in time, or no way there
        return False
    return True


def summed(rank: int, size: int, count: int) -> list[float]:
    import torch
    import torch.distributed as dist

    network.process_group(rank, size)
    x = torch.full((count,), float(rank + 1))
    dist.all_reduce(x)
    return x.tolist()


def cores_beside(rank: int, size: int, host: int) -> tuple[set[int], set[str]]:
    """Joins with a network card; returns the cores of this thread, and those of every thread that joining started."""
    import torch
    import torch.distributed as dist

    tasks = Path("/proc/self/task")  # that of the system, which counts threads in another way than a host does
    before = set(tasks.iterdir())
    network.process_group_beside(rank, size, host)
    dist.all_reduce(torch.ones(1))
    started = [(each / "status").read_text() for each in set(tasks.iterdir()) - before]
    allowed = {line.split()[-1] for status in started for line in status.splitlines() if "Cpus_allowed_list" in line}
    return os.sched_getaffinity(0), allowed
