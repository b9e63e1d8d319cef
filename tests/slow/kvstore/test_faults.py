"""Servers that are killed, paused and cut off while workers push and read: the history could have happened in order."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from dlperf.kvstore import Config, Store, connect, local, processes
from dlperf.kvstore.history import Read, objections
from dlperf.kvstore.membership import View
from dlperf.network import unavailable
from tests.kvstore import on_hosts
from tests.kvstore.busy import PLACES, Busy
from tests.kvstore.on_hosts import Fault, Hosts
from tests.processes import wait_until


def whole(config: Config, stores: list[Store]) -> bool:
    view = stores[0].view
    return all(len(chain) == config.copies and view.is_up(r) for r, chain in enumerate(view.chains))


def suffer(cluster: local.Cluster, chance: random.Random, view: Callable[[], View]) -> None:
    """Has a server killed and started again, or stopped for longer than it takes to be given up; or the scheduler.

    Returns when a worker's ``view`` shows that the others have noticed: who was given up, that it is back.
    """
    gone = [n for n, process in enumerate(cluster.servers) if process is None or process.exitcode is not None]
    assert not gone, f"servers {gone} ended by themselves: {cluster.words()}"
    which, what = chance.randrange(len(cluster.servers)), chance.choice(["kill", "pause", "scheduler"])
    before = view()
    if what == "kill":
        cluster.kill(which)
        time.sleep(chance.uniform(0.0, 3.0))
        cluster.start(which)
        noticed = lambda: view().runs[which] not in (0, before.runs[which])
    elif what == "pause":
        cluster.pause(which)
        time.sleep(seconds := chance.uniform(0.1, 4.0))
        given_up = seconds < cluster.config.dead or wait_until(lambda: view().epoch > before.epoch)
        cluster.resume(which)
        assert given_up, cluster.words()
        noticed = lambda: view().runs[which] != 0
    else:
        assert cluster.scheduler is not None
        processes.end(cluster.scheduler)
        time.sleep(chance.uniform(0.0, 1.0))
        cluster.start_scheduler()
        noticed = lambda: view().epoch > before.epoch  # it begins with one when all servers have reported
    assert wait_until(noticed), cluster.words()


def lose_nothing(faults: int, seed: int, folder: Path) -> None:
    """Makes so many faults, drawn from a seed, and holds what two workers saw against what could have happened."""
    chance = random.Random(seed)
    pause = 3.0 * faults / PLACES  # between a worker's operations, so that they last until the last fault
    config = local.config(3, 2, copies=2, staleness=None, patience=600.0, disk=str(folder))
    with local.Cluster(config) as cluster, connect(config, 0) as first, connect(config, 1) as second:
        stores = [first, second]
        for store in stores:
            store.create("k", torch.zeros(PLACES, dtype=torch.uint8))
        workers = [Busy(store, range(i, PLACES, 2), i, pause) for i, store in enumerate(stores)]
        for _ in range(faults):
            suffer(cluster, chance, lambda: first.view)
            assert wait_until(lambda: whole(config, stores)), cluster.words()
        assert wait_until(lambda: sum(len(worker.additions) for worker in workers) > 5 * faults)
        for worker in workers:
            worker.stop()
        begin = time.monotonic()
        last = first.pull("k")
        reads = [Read(tuple(last.tolist()), begin, time.monotonic())]
        assert cluster.words().count("Traceback") == 0, cluster.words()
    additions = [each for worker in workers for each in worker.additions]
    reads += [each for worker in workers for each in worker.reads]
    assert int(last.sum()) == len(additions)
    assert objections(additions, reads) == []


def test_faults_lose_nothing_and_count_nothing_twice(tmp_path: Path) -> None:
    lose_nothing(6, 6, tmp_path)


def lose_nothing_on_hosts(faults: int, seed: int, folder: Path) -> None:
    """Does the same to servers and workers that are on the hosts of a network, whose links are cut, too."""
    drawn = on_hosts.schedule(seed, faults)
    done: list[Fault] = []

    def suffer(it: Hosts) -> None:
        for fault in drawn:
            it.suffer(fault)
            done.append(fault)

    try:
        assert hold_on_hosts(folder, suffer, 6.0 * faults / PLACES) > 5 * faults
    except BaseException as error:
        error.add_note(f"seed {seed}, in fault {len(done)} of: " + "; ".join(map(str, drawn)))
        raise


def hold_on_hosts(folder: Path, harm: Callable[[Hosts], None], pause: float) -> int:
    """Holds what workers saw while harm was done against what could have happened; returns how many pushes there were.

    They rest for ``pause`` seconds between one and the next.
    """
    with on_hosts.cluster(folder, pause) as it:
        harm(it)
    assert it.workers is not None
    seen = [each for each in it.workers.result() if each is not None]
    additions = [each for some, _ in seen for each in some]
    reads = [each for _, some in seen for each in some]
    assert sum(max(reads, key=lambda read: read.begin).values) == len(additions)
    assert objections(additions, reads) == []
    return len(additions)


@pytest.mark.skipif(bool(unavailable()), reason="this system makes no network namespaces")
def test_links_that_are_cut_lose_nothing(tmp_path: Path) -> None:
    """Of two servers, until the others go on without one of them; then of a host, for a time drawn from a seed."""
    went_on: list[bool] = []

    def cut(it: Hosts) -> None:
        epoch = it.told(0)[0]
        it.cut_pair(0, 1)
        it.until(lambda: it.told(0)[0] > epoch)
        before = [it.told(worker)[2] for worker in (0, 1)]
        it.until(lambda: all(it.told(worker)[2] > before[worker] for worker in (0, 1)))
        went_on.append(True)
        it.mend_pair(0, 1)
        it.until(lambda: all(it.told(worker)[1] for worker in (0, 1)))
        (fault,) = on_hosts.schedule(1, 1, ("cut host",))
        it.suffer(fault)

    assert hold_on_hosts(tmp_path, cut, 0.01) > 20
    assert went_on


def test_after_a_power_cut_all_that_was_acknowledged_is_there(tmp_path: Path) -> None:
    config = local.config(2, 1, copies=2, staleness=None, patience=600.0, disk=str(tmp_path))
    with local.Cluster(config) as cluster, connect(config, 0) as store:
        value = torch.randn(500_000)
        store.create("k", torch.zeros_like(value))
        for _ in range(3):
            store.push("k", value)
        assert cluster.scheduler is not None
        for process in (cluster.scheduler, *cluster.servers):
            assert process is not None
            processes.end(process)
        cluster.start_scheduler()
        for server in (1, 0):
            cluster.start(server)
        store.push("k", value)
        torch.testing.assert_close(store.pull("k"), 4 * value)
