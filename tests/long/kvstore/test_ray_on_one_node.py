"""The store on Ray's actors, on one node: the same checks, a server that is killed, and nothing that stays behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psutil
import pytest

from dlperf.kvstore import Unreachable, connect, ray_cluster
from dlperf.kvstore.config import is_loopback
from tests.kvstore import interface
from tests.kvstore.on_ray import ray_of, running, survives_in_rounds


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
    survives_in_rounds(*cluster)


def test_without_actors_a_worker_says_so(nodes: Any) -> None:
    config = ray_cluster.config(1, 1, patience=0.5)
    with pytest.raises(Unreachable, match=f"no word of the scheduler at {config.scheduler} for 0.5 s"):
        connect(config, 0, backend="ray")
