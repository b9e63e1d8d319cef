"""Hosts in namespaces: what they can reach, how fast their links are, and what a failure says."""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Iterator
from time import perf_counter, sleep

import pytest

from dlperf import network
from dlperf.network import PAYLOAD, Network, Unavailable

why = network.unavailable()
needs_namespaces = pytest.mark.skipif(bool(why), reason=why)


def hello(rank: int, word: str) -> tuple[str, int]:
    return word, rank


def identity(rank: int) -> tuple[int, list[str]]:
    return os.getpid(), [name for _, name in socket.if_nameindex()]


def fail(rank: int) -> None:
    if rank == 1:
        raise ValueError("no such gradient")


def die(rank: int) -> None:
    os._exit(3)


def connects(rank: int, port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return False
    return True


def trickle(rank: int, size: int) -> float:
    """Sends ``size`` bytes from host 0 to host 1 by plain TCP; returns the seconds that they took to come."""
    if rank == 0:
        for _ in range(100):
            try:
                connection = socket.create_connection(("10.0.0.2", 5000))
                break
            except ConnectionRefusedError:
                sleep(0.02)
        with connection:
            connection.sendall(bytes(size))
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)
        return 0.0
    with socket.create_server(("10.0.0.2", 5000)) as server:
        connection, _ = server.accept()
        start, left = perf_counter(), size
        while left:
            left -= len(connection.recv(2**20))
        seconds = perf_counter() - start
        connection.close()
    return seconds


def summed(rank: int, size: int, count: int) -> list[float]:
    import torch
    import torch.distributed as dist

    network.process_group(rank, size)
    x = torch.full((count,), float(rank + 1))
    dist.all_reduce(x)
    return x.tolist()


@pytest.fixture(scope="module")
def pair() -> Iterator[Network]:
    with Network(2) as made:
        yield made


@needs_namespaces
def test_every_host_runs_the_function_with_its_rank(pair: Network) -> None:
    assert pair.run(hello, "word") == [("word", 0), ("word", 1)]


@needs_namespaces
def test_hosts_are_processes_with_interfaces_of_their_own(pair: Network) -> None:
    found = pair.run(identity)
    assert len({os.getpid(), *(pid for pid, _ in found)}) == 3
    assert [sorted(names) for _, names in found] == [["eth0", "lo"]] * 2


@needs_namespaces
def test_a_host_cannot_reach_what_is_outside(pair: Network) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert connects(0, port)
        assert pair.run(connects, port) == [False, False]


@needs_namespaces
@pytest.mark.parametrize("rate", [2e6, 1e7])
def test_a_link_is_never_faster_than_its_rate(rate: float) -> None:
    size = int(rate / 4)
    with Network(2, rate) as made:
        _, seconds = made.run(trickle, size)
    assert seconds >= 0.95 * size / PAYLOAD / rate  # a full bucket passes at once, before the clock starts too


@needs_namespaces
def test_all_reduce_adds_over_three_links() -> None:
    with Network(3) as made:
        assert made.run(summed, 3, 1000) == [[6.0] * 1000] * 3


@needs_namespaces
def test_a_failure_names_the_host_and_what_it_raised() -> None:
    with Network(2) as made, pytest.raises(RuntimeError, match=r"host 1 failed in fail(.|\n)*no such gradient"):
        made.run(fail)


@needs_namespaces
def test_a_host_that_ends_is_told_of() -> None:
    with Network(1) as made, pytest.raises(RuntimeError, match="host 0 failed in die: its process has ended"):
        made.run(die)


@needs_namespaces
def test_hosts_end_with_the_block() -> None:
    with Network(2) as made:
        pids = [pid for pid, _ in made.run(identity)]
    deadline = perf_counter() + 10
    while any(os.path.exists(f"/proc/{pid}") for pid in pids) and perf_counter() < deadline:
        threading.Event().wait(0.05)
    assert not any(os.path.exists(f"/proc/{pid}") for pid in pids)


def test_without_unshare_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable))
    with pytest.raises(Unavailable, match="no command unshare"), Network(1):
        pass


def test_what_the_system_refuses_is_passed_on(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    refusing = f"{tmp_path}/unshare"
    with open(refusing, "w", encoding="ascii") as script:
        script.write("#!/bin/sh\necho 'unshare failed: Operation not permitted' >&2\nexit 1\n")
    os.chmod(refusing, 0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    network.unavailable.cache_clear()
    assert "host 0 of 1 did not start: unshare failed: Operation not permitted" in network.unavailable()
    network.unavailable.cache_clear()


@pytest.mark.parametrize(("hosts", "rate", "said"), [(0, 1e8, "1 to 250 hosts"), (2, 125.0, "bytes per second")])
def test_impossible_networks_are_refused(hosts: int, rate: float, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Network(hosts, rate)
