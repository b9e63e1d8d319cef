"""Servers that are killed, paused and cut off while workers push and read: the history could have happened in order."""

from __future__ import annotations

import random
import threading
import time
from pathlib import Path

import torch

from dlperf.kvstore import Config, Store, connect, local, processes
from dlperf.kvstore.history import Addition, Read, objections
from tests.processes import DEADLINE_S, wait_until

PLACES = 5000
"""So many additions at most."""


class Busy:
    """A worker that pushes and reads in a thread until it is told to stop, and notes what it did and when."""

    def __init__(self, store: Store, places: range, seed: int, pause: float) -> None:
        self.store, self.places, self.chance = store, iter(places), random.Random(seed)
        self.pause = pause
        self.additions: list[Addition] = []
        self.reads: list[Read] = []
        self.error: BaseException | None = None
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _work(self) -> None:
        try:
            while not self.stopping.is_set() and (place := next(self.places, None)) is not None:
                begin = time.monotonic()
                if self.chance.random() < 0.8:
                    one = torch.zeros(PLACES, dtype=torch.uint8)
                    one[place] = 1
                    self.store.push("k", one)
                    self.additions.append(Addition(place, begin, time.monotonic()))
                else:
                    got = self.store.pull("k")
                    self.reads.append(Read(tuple(got.tolist()), begin, time.monotonic()))
                time.sleep(self.pause)
        except BaseException as error:
            self.error = error

    def stop(self) -> None:
        self.stopping.set()
        self.thread.join(DEADLINE_S)
        assert not self.thread.is_alive(), "it hangs"
        if self.error is not None:
            raise self.error


def whole(config: Config, stores: list[Store]) -> bool:
    view = stores[0].view
    return all(len(chain) == config.copies and view.is_up(r) for r, chain in enumerate(view.chains))


def suffer(cluster: local.Cluster, chance: random.Random) -> None:
    """Has a server killed and started again, or stopped for longer than it takes to be given up; or the scheduler."""
    gone = [n for n, process in enumerate(cluster.servers) if process is None or process.exitcode is not None]
    assert not gone, f"servers {gone} ended by themselves: {cluster.words()}"
    which, what = chance.randrange(len(cluster.servers)), chance.choice(["kill", "pause", "scheduler"])
    if what == "kill":
        cluster.kill(which)
        time.sleep(chance.uniform(0.0, 3.0))
        cluster.start(which)
    elif what == "pause":
        cluster.pause(which)
        time.sleep(chance.uniform(0.1, 4.0))
        cluster.resume(which)
    else:
        assert cluster.scheduler is not None
        processes.end(cluster.scheduler)
        time.sleep(chance.uniform(0.0, 1.0))
        cluster.start_scheduler()


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
            suffer(cluster, chance)
            time.sleep(0.3)
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
