"""Who stops reading costs nobody else memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import torch
import zmq

from dlperf.kvstore import connect, local, wire
from tests.kvstore.limits import LONG

MIB = 2**20


def test_a_worker_that_does_not_read_costs_the_server_its_queue_and_no_more() -> None:
    config = local.config(1, 2, staleness=None, **LONG)
    with local.Cluster(config) as cluster, connect(config, 0) as store, zmq.Context() as context:
        value = torch.zeros(MIB // 4)
        store.create("k", value)
        server = cluster.servers[0]
        assert server is not None
        memory = psutil.Process(server.pid).memory_info
        epoch, before = store.view.epoch, memory().rss
        with context.socket(zmq.DEALER) as greedy:
            greedy.linger, greedy.rcvhwm, greedy.sndhwm = 0, 1, 0
            greedy.connect(f"tcp://{config.servers[0]}")
            most = 0
            for number in range(3000):  # three gigabytes, of which nothing is read
                greedy.send(wire.encode(wire.Pull(epoch, 1, 0, 0, number, "k", 0)))
                most = max(most, memory().rss)
            for _ in range(20):
                assert torch.equal(store.pull("k"), value)  # others are served
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
