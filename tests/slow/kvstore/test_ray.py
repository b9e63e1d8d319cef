"""The store on Ray's actors, on three nodes of a local Ray: the same checks, and actors and nodes that are killed."""

from __future__ import annotations

import importlib.util
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch

from dlperf.kvstore import Store, StoreError, Unreachable, connect
from dlperf.kvstore.config import is_loopback
from dlperf.kvstore.history import Addition, Read, objections
from dlperf.kvstore.ray_alone import ALONE
from tests.kvstore import interface

pytestmark = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
MIB = 2**20
COUNT = 400


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """A Ray of three nodes on this machine; the tests run on the first."""
    os.environ.update(ALONE)
    import ray
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 128 * MIB}
    nodes = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    assert is_loopback(nodes.address), "Ray was imported before the environment was set"
    for _ in range(2):
        nodes.add_node(**node)
    ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
    try:
        yield nodes
    finally:
        ray.shutdown()
        nodes.shutdown()


@contextmanager
def running(**options: Any) -> Iterator[tuple[Any, list[Any]]]:
    from dlperf.kvstore import ray_cluster

    config = ray_cluster.config(patience=30.0, **options)
    with ray_cluster.Cluster(config) as cluster:
        stores = [connect(config, worker, backend="ray") for worker in range(config.workers)]
        try:
            yield cluster, stores
        finally:
            for store in stores:
                store.close()


@pytest.fixture(scope="module", params=[1, 2], ids=["one copy", "two copies"])
def stores(request: pytest.FixtureRequest, nodes: Any) -> Iterator[list[Any]]:
    with running(servers=2, workers=2, copies=request.param) as (_, stores):
        yield stores


@pytest.mark.parametrize("check", interface.CHECKS)
def test_a_store(stores: list[Any], check: Callable[[list[Any]], None]) -> None:
    check(stores)


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
    work = [(store, key, range(worker, COUNT, 2), additions, errors) for worker, store in enumerate(stores)]
    threads = [threading.Thread(target=add, args=each, daemon=True) for each in work]
    for thread in threads:
        thread.start()
    _wait(lambda: len(additions) > 20)
    fault()
    end = time.monotonic() + 40
    while any(thread.is_alive() for thread in threads) and time.monotonic() < end:
        begin = time.monotonic()
        reads.append(Read(tuple(stores[0].pull(key).tolist()), begin, time.monotonic()))
        time.sleep(0.05)
    assert not errors
    assert not any(thread.is_alive() for thread in threads), "it hangs"
    _wait(until)
    last = stores[1].pull(key)
    reads.append(Read(tuple(last.tolist()), end, end + 1))
    assert last.tolist() == [1] * COUNT
    assert objections(additions, reads) == []


def _wait(until: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.02)


def whole(stores: list[Any], copies: int) -> bool:
    view = stores[1].view
    return all(len(chain) == copies and view.is_up(r) for r, chain in enumerate(view.chains))


def test_servers_and_nodes_that_are_killed_take_nothing_with_them(nodes: Any) -> None:
    import ray

    with running(servers=3, workers=2, copies=2, staleness=None) as (cluster, stores):
        _wait(lambda: whole(stores, 2))
        view = stores[0].view
        head = view.chains[stores[0]._ring.home("k")][0]
        was = view.runs[head]
        survives(
            stores,
            "k",
            lambda: cluster.kill(head),
            lambda: whole(stores, 2) and stores[1].view.runs[head] not in (0, was),
        )
        where = ray.get([server.node_id.remote() for server in cluster.servers], timeout=30)
        assert len(set(where)) == 3, "servers are on different nodes"
        node = next(each for each in nodes.worker_nodes if where.index(each.node_id) in view.chains[0])
        survives(stores, "other k", lambda: nodes.remove_node(node, allow_graceful=False), lambda: whole(stores, 2))


def test_a_server_that_is_killed_comes_back_with_its_disk(nodes: Any, tmp_path: Any) -> None:
    with running(servers=1, workers=2, staleness=None, disk=str(tmp_path)) as (cluster, stores):
        survives(stores, "k", lambda: cluster.kill(0), lambda: whole(stores, 1))
        with connect(cluster.config, 0, backend="ray") as again:  # it takes over from its former process
            again.create("another", torch.zeros(2))
            _wait(lambda: stores[0]._failed is not None)
            with pytest.raises(StoreError, match="another process is worker 0 now"):
                stores[0].push("k", torch.ones(COUNT, dtype=torch.uint8))
            again.push("another", torch.ones(2))
            assert again.pull("another").tolist() == [1, 1]


def test_without_actors_a_worker_says_so(nodes: Any) -> None:
    from dlperf.kvstore import ray_cluster

    config = ray_cluster.config(1, 1, patience=0.5)
    with pytest.raises(Unreachable, match=f"no word of the scheduler at {config.scheduler} for 0.5 s"):
        connect(config, 0, backend="ray")
