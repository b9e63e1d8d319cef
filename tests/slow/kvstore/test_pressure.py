"""A live server: who stops reading costs nobody else memory, what is no message is refused, and each push counts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator

import psutil
import pytest
import torch
import zmq

from dlperf.kvstore import Store, connect, local, wire
from tests.kvstore.limits import LONG
from tests.kvstore.malformed import check_goes_on, check_refused
from tests.kvstore.pushes import counted

MIB = 2**20


@pytest.fixture(scope="module")
def live() -> Iterator[tuple[local.Cluster, Store]]:
    """A cluster of one server, which is not given up on a busy machine, and a store of one of its two workers."""
    config = local.config(1, 2, staleness=None, **LONG)
    with local.Cluster(config) as cluster, connect(config, 0) as store:
        yield cluster, store


def test_a_live_server_refuses_what_is_malformed_and_goes_on(live: tuple[local.Cluster, Store]) -> None:
    cluster, store = live
    sent = check_refused(store.config, store, 1000, seed=0)
    assert min(sent.values()) > 300
    check_goes_on(cluster)


def test_every_push_counts_and_is_timed(live: tuple[local.Cluster, Store]) -> None:
    """What it costs that the disk has it, too, `tests/long` measures."""
    _, store = live
    found = counted({"in memory": store}, 64, pushes=3, turns=2)
    assert [len(each.samples) for each in found.values()] == [2]
    assert min(found["in memory"].samples) > 0


def test_a_worker_that_does_not_read_costs_the_server_its_queue_and_no_more(live: tuple[local.Cluster, Store]) -> None:
    cluster, store = live
    config, value = store.config, torch.zeros(MIB // 4)
    store.create("large", value)
    server = cluster.servers[0]
    assert server is not None
    memory = psutil.Process(server.pid).memory_info
    epoch, before = store.view.epoch, memory().rss
    with zmq.Context() as context, context.socket(zmq.DEALER) as greedy:
        greedy.linger, greedy.rcvhwm, greedy.sndhwm = 0, 1, 0
        greedy.connect(f"tcp://{config.servers[0]}")
        most = 0
        for number in range(3000):  # three gigabytes, of which nothing is read
            greedy.send(wire.encode(wire.Pull(epoch, 1, 0, 0, number, "large", 0)))
            most = max(most, memory().rss)
        for _ in range(20):
            assert torch.equal(store.pull("large"), value)  # others are served
            most = max(most, memory().rss)
    assert most - before < 200 * MIB


PUSHES = """
import sys, torch, psutil
from pathlib import Path
from dlperf.kvstore import read, connect
config = read(sys.argv[1])
store = connect(config, 0)
value = torch.ones(64 * 2**18)  # 64 MiB
store.create("k", value)
memory = psutil.Process().memory_info
print(memory().rss, flush=True)
sys.stdin.readline()  # the server has been stopped
pending = [store.start_push("k", value) for _ in range(20)]
tickets = [ticket for each in pending for ticket in each._tickets]
while True:  # until each part is sent, or waits for room
    lanes = list(store._client.lanes)
    if sum(len(lane.under_way) + len(lane.waiting) for lane in lanes) == len(tickets):
        break
print(memory().rss, flush=True)
sys.stdin.readline()  # it goes on
for each in pending:
    each.wait()
store.clock()
print(int(store.pull("k")[0]), flush=True)
store.close()
"""


def test_a_server_that_does_not_read_costs_a_worker_its_window_and_no_more() -> None:
    config = local.config(1, 1, staleness=None, patience=600.0, **LONG)
    with local.Cluster(config) as cluster:
        worker = subprocess.Popen(
            [sys.executable, "-c", PUSHES, str(cluster.file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        try:
            assert worker.stdin is not None
            assert worker.stdout is not None
            before = int(worker.stdout.readline())
            cluster.pause(0)
            worker.stdin.write("\n")
            worker.stdin.flush()
            after = int(worker.stdout.readline())
            cluster.resume(0)
            worker.stdin.write("\n")
            worker.stdin.flush()
            assert int(worker.stdout.readline()) == 21  # one that was created, and all pushes once
            assert after - before < 100 * MIB  # of 1,280 MiB that are to be sent
        finally:
            worker.send_signal(signal.SIGKILL)
            worker.wait()
