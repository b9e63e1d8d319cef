"""The store on Ray's actors, on one node: the same checks, a server that is killed, and nothing that stays behind."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pytest
import torch

from dlperf.kvstore import Store, Unreachable, connect, ray_cluster, ray_local
from dlperf.kvstore.config import is_loopback
from dlperf.kvstore.history import Addition, Read, objections
from tests.kvstore import interface
from tests.processes import DEADLINE_S, alive, wait_until

COUNT = 200


@contextmanager
def ray_of(count: int) -> Iterator[Any]:
    """A Ray of so many nodes, of which nothing stays behind."""
    with ray_local.nodes(count) as nodes:
        folder = os.environ["RAY_TMPDIR"]
        yield nodes
        processes = [each.pid for each in psutil.Process().children(recursive=True)]
    assert wait_until(lambda: not alive(processes))
    assert not os.path.exists(folder)


@contextmanager
def running(**options: Any) -> Iterator[tuple[ray_cluster.Cluster, list[Any]]]:
    """A cluster of actors, and stores of its workers."""
    config = ray_cluster.config(patience=600.0, **options)
    with ray_cluster.Cluster(config) as cluster:
        stores = [connect(config, worker, backend="ray") for worker in range(config.workers)]
        try:
            yield cluster, stores
        finally:
            for store in stores:
                store.close()


def add(store: Store, key: str, places: range, additions: list[Addition], errors: list[BaseException]) -> None:
    """Adds 1 at one place after the other, each once."""
    try:
        for place in places:
            one = torch.zeros(COUNT, dtype=torch.uint8)
            one[place] = 1
            begin = time.monotonic()
            store.push(key, one)
            additions.append(Addition(place, begin, time.monotonic()))
    except BaseException as error:
        errors.append(error)


def survives(stores: list[Any], key: str, fault: Callable[[], None], until: Callable[[], bool]) -> None:
    """Asserts that what is pushed before, during and after a fault counts just once; reads go on meanwhile."""
    additions, errors, reads = list[Addition](), list[BaseException](), list[Read]()
    for store in stores:
        store.create(key, torch.zeros(COUNT, dtype=torch.uint8))
    first, later = range(COUNT // 4), range(COUNT // 4, COUNT)  # the second begin when the first are half through
    threads = [
        threading.Thread(target=add, args=(store, key, places, additions, errors), daemon=True)
        for store, places in zip(stores, (first, later), strict=True)
    ]
    threads[0].start()
    assert wait_until(lambda: len(additions) > len(first) // 2 or bool(errors))
    fault()
    threads[1].start()
    end = time.monotonic() + DEADLINE_S
    while any(thread.is_alive() for thread in threads) and time.monotonic() < end:
        begin = time.monotonic()
        reads.append(Read(tuple(stores[0].pull(key).tolist()), begin, time.monotonic()))
    assert not errors
    assert not any(thread.is_alive() for thread in threads), "it hangs"
    assert wait_until(until)
    begin = time.monotonic()
    last = stores[1].pull(key)
    reads.append(Read(tuple(last.tolist()), begin, time.monotonic()))
    assert last.tolist() == [1] * COUNT
    assert objections(additions, reads) == []


def whole(stores: list[Any], copies: int) -> bool:
    """Returns whether every range has all of its copies."""
    view = stores[1].view
    return all(len(chain) == copies and view.is_up(r) for r, chain in enumerate(view.chains))


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    with ray_of(1) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def cluster(nodes: Any) -> Iterator[tuple[ray_cluster.Cluster, list[Any]]]:
    with running(servers=2, workers=2, copies=2) as (cluster, stores):
        yield cluster, stores


@pytest.fixture
def stores(cluster: tuple[ray_cluster.Cluster, list[Any]]) -> list[Any]:
    return cluster[1]  # a check may put another in the place of one


@pytest.mark.parametrize("check", interface.CHECKS)
def test_a_store(stores: list[Any], check: Callable[[list[Any]], None]) -> None:
    check(stores)


def test_all_listen_on_loopback_only(stores: list[Any]) -> None:
    me = psutil.Process()
    listening = []
    for process in (me, *me.children(recursive=True)):
        for each in process.net_connections():
            if each.status == psutil.CONN_LISTEN:
                listening.append(each.laddr.ip.removeprefix("::ffff:"))
    assert len(listening) > 5
    assert [ip for ip in listening if not is_loopback(f"{ip}:1")] == []


def test_a_server_that_is_killed_takes_nothing_with_it(cluster: tuple[ray_cluster.Cluster, list[Any]]) -> None:
    actors, stores = cluster
    one = torch.ones(3)
    interface.both(stores, lambda _, store: store.create("killed", torch.zeros(3)))
    stores[0].push("killed", one)
    runs = stores[0].view.runs
    head = stores[0].view.chains[stores[0]._ring.home("killed")][0]
    actors.kill(head)
    for _ in range(10):
        interface.both(stores, lambda _, store: store.push("killed", one))
    assert stores[1].pull("killed").tolist() == [0.0] * 3
    interface.end_round(stores)
    assert stores[1].pull("killed").tolist() == [21.0] * 3
    assert wait_until(lambda: whole(stores, 2) and stores[1].view.runs[head] not in (0, runs[head]))


def test_without_actors_a_worker_says_so(nodes: Any) -> None:
    config = ray_cluster.config(1, 1, patience=0.5)
    with pytest.raises(Unreachable, match=f"no word of the scheduler at {config.scheduler} for 0.5 s"):
        connect(config, 0, backend="ray")
