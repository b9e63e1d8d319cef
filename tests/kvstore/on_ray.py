"""What the store must survive on Ray's actors: used on a Ray that runs, and on a stand-in for one."""

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

from dlperf.kvstore import Lost, Store, connect, ray_cluster, ray_local
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


def survives_in_rounds(cluster: ray_cluster.Cluster, stores: list[Any]) -> None:
    """Asserts that what workers push in a round counts just once, though a server is killed in it."""
    one = torch.ones(3)
    interface.both(stores, lambda _, store: store.create("killed", torch.zeros(3)))
    stores[0].push("killed", one)
    runs = stores[0].view.runs
    head = stores[0].view.chains[stores[0]._ring.home("killed")][0]
    cluster.kill(head)
    for _ in range(10):
        interface.both(stores, lambda _, store: store.push("killed", one))
    assert stores[1].pull("killed").tolist() == [0.0] * 3
    interface.end_round(stores)
    assert stores[1].pull("killed").tolist() == [21.0] * 3
    assert wait_until(lambda: whole(stores, 2) and stores[1].view.runs[head] not in (0, runs[head]))


def loses(cluster: ray_cluster.Cluster, store: Any) -> None:
    """Asserts that a worker is told what is lost with a server that has no disk and no other copy."""
    store.create("k", torch.zeros(3))
    [range_] = {r for r, _ in store._made["k"].parts}
    cluster.kill(store.view.chains[range_][0])
    assert wait_until(lambda: store.view.chains[range_] == ())
    with pytest.raises(Lost, match=f"range {range_} is lost: its last server came back without it"):
        store.push("k", torch.ones(3))
