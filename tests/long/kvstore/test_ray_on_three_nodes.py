"""The store on Ray's actors, on three nodes of a local Ray: the same checks, and actors and nodes that are killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from dlperf.kvstore import StoreError, connect
from tests.kvstore import interface
from tests.kvstore.on_ray import COUNT, loses, ray_of, running, survives, whole
from tests.processes import DEADLINE_S, alive, wait_until


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    with ray_of(3) as nodes:
        yield nodes


@pytest.fixture(scope="module", params=[1, 2], ids=["one copy", "two copies"])
def stores(request: pytest.FixtureRequest, nodes: Any) -> Iterator[list[Any]]:
    with running(servers=2, workers=2, copies=request.param) as (_, stores):
        yield stores


@pytest.mark.parametrize("check", interface.CHECKS)
def test_a_store(stores: list[Any], check: Callable[[list[Any]], None]) -> None:
    check(stores)


def test_servers_and_nodes_that_are_killed_take_nothing_with_them(nodes: Any) -> None:
    import ray

    with running(servers=3, workers=2, copies=2, staleness=None) as (cluster, stores):
        assert wait_until(lambda: whole(stores, 2))
        view = stores[0].view
        head = view.chains[stores[0]._ring.home("k")][0]
        is_back = lambda: whole(stores, 2) and stores[1].view.runs[head] not in (0, view.runs[head])
        survives(stores, "k", lambda: cluster.kill(head), is_back)
        where = ray.get([server.node_id.remote() for server in cluster.servers], timeout=DEADLINE_S)
        assert len(set(where)) == 3, "servers are on different nodes"
        node = next(each for each in nodes.worker_nodes if where.index(each.node_id) in stores[1].view.chains[0])
        survives(stores, "other k", lambda: nodes.remove_node(node, allow_graceful=False), lambda: whole(stores, 2))


def test_a_server_that_is_killed_comes_back_with_its_disk(nodes: Any, tmp_path: Path) -> None:
    with running(servers=1, workers=2, staleness=None, disk=str(tmp_path)) as (cluster, stores):
        survives(stores, "k", lambda: cluster.kill(0), lambda: whole(stores, 1))
        with connect(cluster.config, 0, backend="ray") as again:  # it takes over from its former process
            again.create("another", torch.zeros(2))
            assert wait_until(lambda: stores[0]._failed is not None)
            with pytest.raises(StoreError, match="another process is worker 0 now"):
                stores[0].push("k", torch.ones(COUNT, dtype=torch.uint8))
            again.push("another", torch.ones(2))
            assert again.pull("another").tolist() == [1, 1]


def test_a_scheduler_that_is_killed_comes_back_with_its_file(nodes: Any, tmp_path: Path) -> None:
    import ray

    with running(servers=2, workers=2, copies=2, staleness=None, disk=str(tmp_path)) as (cluster, stores):
        before = ray.get(cluster.scheduler.process_id.remote(), timeout=DEADLINE_S)
        epoch = stores[1].view.epoch
        survives(stores, "k", cluster.kill_scheduler, lambda: stores[1].view.epoch > epoch and whole(stores, 2))
        assert ray.get(cluster.scheduler.process_id.remote(), timeout=DEADLINE_S) != before


def test_without_a_disk_and_another_copy_what_a_server_had_is_lost_and_workers_are_told(nodes: Any) -> None:
    with running(servers=2, workers=1, copies=1, staleness=None) as (cluster, [store]):
        loses(cluster, store)


PROGRAM = """
import os, sys, time, psutil
from dlperf.kvstore import ray_local
with ray_local.nodes(1):
    from dlperf.kvstore import ray_cluster, connect
    config = ray_cluster.config(1, 1)
    with ray_cluster.Cluster(config), connect(config, 0, backend="ray"):
        print(os.environ["RAY_TMPDIR"], *(each.pid for each in psutil.Process().children(recursive=True)), flush=True)
        time.sleep(600)
"""


def test_a_ray_ends_with_the_process_that_started_it() -> None:
    """Also where that is killed; only its folder stays."""
    process = subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    folder, *pids = process.stdout.readline().split()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    try:
        assert len(pids) > 3
        assert wait_until(lambda: not alive(map(int, pids)), 3 * DEADLINE_S)  # some look for Ray for a minute first
    finally:
        shutil.rmtree(folder, ignore_errors=True)
