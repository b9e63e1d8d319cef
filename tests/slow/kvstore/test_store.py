"""Servers and a scheduler as processes, and what workers ask of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from dlperf.kvstore import StoreError, Unreachable, connect, local
from tests.kvstore import interface
from tests.kvstore.limits import LONG
from tests.processes import alive, wait_until


@pytest.fixture(scope="module", params=[1, 2], ids=["one copy", "two copies"])
def stores(request: pytest.FixtureRequest) -> Iterator[list[Any]]:
    config = local.config(servers=2, workers=2, copies=request.param, **LONG)
    with local.Cluster(config):
        stores = [connect(config, worker) for worker in range(2)]  # a check may put another in the place of one
        yield stores
        for store in stores:
            store.close()


@pytest.mark.parametrize("check", interface.CHECKS)
def test_a_store(stores: list[Any], check: Callable[[list[Any]], None]) -> None:
    check(stores)


def test_without_a_scheduler_a_worker_says_so() -> None:
    config = local.config(1, 1, patience=0.5)
    with pytest.raises(Unreachable, match=f"no word of the scheduler at {config.scheduler} for 0.5 s"):
        connect(config, 0)


def test_a_worker_takes_over_from_its_former_process() -> None:
    config = local.config(1, 1, **LONG)
    with local.Cluster(config):
        first = connect(config, 0)
        first.create("k", torch.zeros(2))
        with connect(config, 0) as second:
            second.create("k", torch.zeros(2))
            second.push("k", torch.ones(2))
            assert wait_until(lambda: first._failed is not None)
            with pytest.raises(StoreError, match="another process is worker 0 now"):
                first.push("k", torch.ones(2))
            second.clock()
            assert second.pull("k").tolist() == [1, 1]
        first.close()


def test_nobody_waits_for_a_thread_that_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    config = local.config(1, 1, **LONG)
    with local.Cluster(config):
        store: Any = connect(config, 0)
        store.create("k", torch.zeros(2))

        def fail(*_: Any) -> None:
            raise RuntimeError("a thread may die of anything")

        monkeypatch.setattr(store._client, "receive", fail)
        for _ in range(3):
            with pytest.raises(StoreError, match="this store has ended: a thread may die of anything"):
                store.push("k", torch.ones(2))
        store.close()


def test_a_server_that_is_asked_to_stop_leaves_its_range_to_the_others() -> None:
    config = local.config(3, 1, copies=2, staleness=None, **LONG)
    with local.Cluster(config) as cluster, connect(config, 0) as store:
        value = torch.randn(300_000)
        store.create("k", value)
        assert cluster.stop(1) == 0
        store.push("k", value)
        assert torch.equal(store.pull("k"), 2 * value)
        assert cluster.stop(0) == 0
        store.push("k", value)
        assert torch.equal(store.pull("k"), 3 * value)


def test_servers_end_with_the_process_that_started_them() -> None:
    program = """
import os, sys, time
from dlperf.kvstore import local
with local.Cluster(local.config(2, 1)) as cluster:
    print(*(process.pid for process in [cluster.scheduler, *cluster.servers]), flush=True)
    time.sleep(600)
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    pids = list(map(int, process.stdout.readline().split()))
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(pids) == 3
    assert wait_until(lambda: not alive(pids))


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["serve", "--config", "none.toml", "--server", "0"], "none.toml"),
        (["serve"], "MASTER_ADDR is not set: start with torchrun, or name a file"),
    ],
)
def test_the_command_says_what_is_wrong(arguments: list[str], why: str, tmp_path: Any) -> None:
    given = {name: value for name, value in os.environ.items() if name not in ("MASTER_ADDR", "WORLD_SIZE", "RANK")}
    done = subprocess.run(
        [sys.executable, "-m", "dlperf.kvstore", *arguments], capture_output=True, text=True, cwd=tmp_path, env=given
    )
    assert done.returncode == 1
    assert why in done.stderr
    assert "Traceback" not in done.stderr
