"""The store on actors of a stand-in for Ray: the checks of every store, and actors that are killed.

`tests/long` does the same on a Ray that runs, whose nodes start for half a minute.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import ray
import ray.cluster_utils
from ray._private import ray_constants

from dlperf.kvstore import (
    Unreachable,
    connect,
    ray_actors,
    ray_cluster,
    ray_local,
    ray_messages,
    ray_store,
)
from tests.kvstore import interface
from tests.kvstore.on_ray import loses, running, survives, survives_in_rounds, whole
from tests.kvstore.stand_in_ray import Ray, fail

NEVER = {"dead": 600.0, "lease": 500.0}
"""Where nobody is killed, nobody is given up, however busy the machine."""
SOON = {"dead": 5.0, "lease": 4.0}
"""Who is killed is missed after so long."""


@pytest.fixture(scope="module")
def stand_in() -> Iterator[Ray]:
    """The stand-in, in the place of Ray."""
    found = Ray()
    with pytest.MonkeyPatch.context() as patch:
        for module in (ray_actors, ray_cluster, ray_messages, ray_store):
            patch.setattr(module, "ray", found)
        strategy = lambda *_, **__: None
        patch.setattr(
            ray_cluster,
            "strategies",
            SimpleNamespace(PlacementGroupSchedulingStrategy=strategy, NodeAffinitySchedulingStrategy=strategy),
        )
        patch.setattr(ray_actors, "os", SimpleNamespace(urandom=os.urandom, getpid=os.getpid, _exit=fail))
        yield found
    assert (found.actors, found.places) == ({}, [])


@pytest.fixture(scope="module")
def stores(stand_in: Ray) -> Iterator[list[Any]]:
    with running(servers=2, workers=2, copies=2, **NEVER) as (_, stores):
        yield stores


@pytest.mark.parametrize("check", interface.CHECKS)
def test_a_store(stores: list[Any], check: Callable[[list[Any]], None]) -> None:
    check(stores)


def test_a_server_that_is_killed_takes_nothing_with_it(stand_in: Ray) -> None:
    with running(servers=2, workers=2, copies=2, **SOON) as (cluster, stores):
        survives_in_rounds(cluster, stores)


def test_a_server_and_the_scheduler_come_back_with_their_disk(stand_in: Ray, tmp_path: Path) -> None:
    with running(servers=1, workers=2, staleness=None, disk=str(tmp_path), **SOON) as (cluster, stores):
        survives(stores, "k", lambda: cluster.kill(0), lambda: whole(stores, 1))
        epoch = stores[1].view.epoch
        survives(stores, "other k", cluster.kill_scheduler, lambda: stores[1].view.epoch > epoch and whole(stores, 1))
        assert [cluster.scheduler.lives, *(server.lives for server in cluster.servers)] == [2, 2]


def test_without_a_disk_and_another_copy_what_a_server_had_is_lost_and_workers_are_told(stand_in: Ray) -> None:
    with running(servers=2, workers=1, copies=1, staleness=None, **SOON) as (cluster, [store]):
        loses(cluster, store)


def test_without_actors_a_worker_says_so(stand_in: Ray) -> None:
    config = ray_cluster.config(1, 1, patience=0.5)
    with pytest.raises(Unreachable, match=f"no word of the scheduler at {config.scheduler} for 0.5 s"):
        connect(config, 0, backend="ray")


class Nodes:
    """What stands for a cluster of Ray's nodes: notes what each is asked."""

    address = "127.0.0.1:6379"

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def add_node(self, **asked: Any) -> None:
        self.asked.append(asked)
        assert Path(os.environ["RAY_TMPDIR"]).is_dir()
        assert os.environ.items() >= ray_local.ENVIRONMENT.items()

    def shutdown(self) -> None:
        self.asked.clear()


@pytest.fixture
def joined(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The addresses that this process joins, and None where it leaves."""
    found: list[str | None] = []
    for name, value in ray_local.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)  # so that it is taken back
    monkeypatch.setenv("RAY_TMPDIR", "before")
    monkeypatch.setattr(ray.cluster_utils, "Cluster", Nodes)
    monkeypatch.setattr(ray_messages, "ray", ray)
    monkeypatch.setattr(ray_constants, "ENABLE_RAY_CLUSTER", True)
    monkeypatch.setattr(ray, "init", lambda address, **_: found.append(address))
    monkeypatch.setattr(ray, "shutdown", lambda: found.append(None))
    return found


def test_nodes_are_asked_for_and_nothing_of_them_stays(joined: list[str | None]) -> None:
    with ray_local.nodes(3, memory=2**30, cpus=1) as nodes:
        folder = os.environ["RAY_TMPDIR"]
        assert Path(folder).parent == Path(tempfile.gettempdir())
        asked = {"num_cpus": 1, "object_store_memory": 2**30}
        assert nodes.asked == [{**asked, "include_dashboard": False}, asked, asked]
        assert joined == [Nodes.address]
        assert ray_constants.ENABLE_RAY_CLUSTER is False
    assert (nodes.asked, joined) == ([], [Nodes.address, None])
    assert not Path(folder).exists()
    assert os.environ["RAY_TMPDIR"] == "before"


def test_who_would_listen_to_others_is_refused(joined: list[str | None], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Nodes, "address", "10.0.0.1:6379")
    with pytest.raises(RuntimeError, match=r"on loopback only, and listens on 10.0.0.1:6379"), ray_local.nodes():
        pass
    assert joined == []
