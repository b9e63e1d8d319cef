"""A live server is sent what no worker sends: it goes on, and says no word of a traceback. The counts are printed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest
import torch

from dlperf.kvstore import connect, local
from tests.kvstore.malformed import check_goes_on, check_refused

FRAMES = 120_000
"""So many malformed messages."""
MIB = 2**20


@pytest.mark.parametrize("seed", range(2))
def test_a_live_server_refuses_a_hundred_thousand_messages_and_goes_on(seed: int) -> None:
    config = local.config(1, 2, staleness=None)
    with local.Cluster(config) as cluster, connect(config, 0) as store:
        sent = check_refused(config, store, FRAMES, seed)
        check_goes_on(cluster)
    print(f"\nseed {seed}: {sum(sent.values())} malformed messages, {sent}; 0 tracebacks")


GREEDY = """
import sys, time, zmq
from dlperf.kvstore import connect, read, wire
config = read(sys.argv[1])
store = connect(config, 1)
epoch = store.view.epoch
socket = zmq.Context().socket(zmq.DEALER)
socket.rcvhwm, socket.sndhwm = 1, 0
socket.connect(f"tcp://{config.servers[0]}")
for number in range(1_000_000):  # as many mebibytes
    socket.send(wire.encode(wire.Pull(epoch, 1, 0, 0, number, "k", 0)))
    time.sleep(0.0005)
    if number == 100:
        print(epoch, flush=True)
"""


def test_a_reader_that_is_stopped_costs_the_server_its_queue() -> None:
    config = local.config(1, 2, staleness=None, dead=600.0, lease=500.0)
    with local.Cluster(config) as cluster, connect(config, 0) as store:
        value = torch.zeros(MIB // 4)
        store.create("k", value)
        server = cluster.servers[0]
        assert server is not None
        memory = psutil.Process(server.pid).memory_info
        before = memory().rss
        reader = subprocess.Popen(
            [sys.executable, "-c", GREEDY, str(cluster.file)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        try:
            assert reader.stdout is not None
            assert reader.stdout.readline().strip().isdigit()
            most = memory().rss
            for step in range(400):  # each push makes a new value, and what is queued keeps the one it was asked for
                if step == 200:
                    reader.send_signal(signal.SIGSTOP)
                store.push("k", value)
                assert torch.equal(store.pull("k"), value)  # others are served
                most = max(most, memory().rss)
        finally:
            reader.kill()
            reader.wait()
    print(f"\nresident memory of the server: {before / MIB:.0f} MiB before, {most / MIB:.0f} MiB at most")
    assert most - before < 200 * MIB
