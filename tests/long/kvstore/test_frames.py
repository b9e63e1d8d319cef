"""A live server is sent what no worker sends: it goes on, and says no word of a traceback. The counts are printed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys

import psutil
import pytest
import torch
import zmq

from dlperf.kvstore import Store, connect, local, peers, wire
from dlperf.kvstore.config import next_port
from tests.processes import DEADLINE_S

FRAMES = 120_000
"""So many malformed messages."""
BATCH = 200
"""After so many the server is asked for something good, so that no queue drops any."""
MIB = 2**20


def damaged(chance: random.Random, good: list[list[bytes]]) -> list[bytes]:
    """Returns noise, or a good message with bits turned, cut, or with frames too many or too few."""
    frames = [bytearray(frame) for frame in chance.choice(good)]
    match chance.randrange(5):
        case 0:
            frames = [bytearray(chance.randbytes(chance.randrange(200))) for _ in range(chance.randrange(1, 4))]
        case 1:
            for _ in range(chance.randrange(1, 5)):
                frames[0][chance.randrange(len(frames[0]))] ^= 1 << chance.randrange(8)
        case 2:
            which = chance.randrange(len(frames))
            frames[which] = frames[which][: chance.randrange(len(frames[which]))] + chance.randbytes(
                chance.randrange(3)
            )
        case 3:
            frames = frames[: chance.randrange(len(frames)) + 1] + [bytearray(chance.randbytes(8))] * chance.randrange(
                5
            )
        case 4:
            frames[0] = bytearray(chance.randbytes(wire.HEADER + 1)) if chance.random() < 0.01 else bytearray(b"\x90")
    return [bytes(frame) for frame in frames]


def good(store: Store) -> list[list[bytes]]:
    """Returns messages that are right in form, and come from a worker that is none: what they do is refused, too."""
    head = store.view.epoch, 1, 2**20, 0
    return [
        [wire.encode(wire.Create(*head, 1, "k", 0, "float32", (4,), wire.updaters.SGD(0.1))), bytes(16)],
        [wire.encode(wire.Push(*head, 3, "none", 0)), bytes(16), bytes(8)],
        [wire.encode(wire.Pull(*head, 3, "none", 0)), bytes(8)],
        [wire.encode(wire.Tick(*head, 3, 1))],
        [wire.encode(peers.Forward(store.view.epoch, 0, 7, 1)), wire.encode(wire.Tick(*head, 3, 1))],
        [wire.encode(peers.Begin(store.view.epoch, 0, 7, 1)), bytes(8)],
        [wire.encode(peers.Beat("server", 0, 7, 0, 0))],
    ]


@pytest.mark.parametrize("seed", range(2))
def test_a_live_server_refuses_a_hundred_thousand_messages_and_goes_on(seed: int) -> None:
    chance = random.Random(seed)
    config = local.config(1, 2, staleness=None)
    with local.Cluster(config) as cluster, connect(config, 0) as store, zmq.Context() as context:
        value = torch.randn(4)
        store.create("k", value)
        messages = good(store)
        sent = {"front": 0, "back": 0}
        ends = dict(zip(sent, (config.servers[0], next_port(config.servers[0])), strict=True))
        sockets = {name: context.socket(zmq.DEALER) for name in sent}
        for name, socket in sockets.items():
            socket.linger = 0
            socket.connect(f"tcp://{ends[name]}")
        while sum(sent.values()) < FRAMES:
            for _ in range(BATCH):
                name = chance.choice(list(sent))
                assert sockets[name].poll(1e3 * DEADLINE_S, zmq.POLLOUT), f"seed {seed}: it takes nothing any more"
                sockets[name].send_multipart(damaged(chance, messages), copy=True)
                sent[name] += 1
            while sockets["front"].poll(0):
                sockets["front"].recv_multipart()
            assert torch.equal(store.pull("k"), value), f"seed {seed}, after {sent}"
        server = cluster.servers[0]
        assert server is not None
        assert server.exitcode is None
        assert cluster.words().count("Traceback") == 0, cluster.words()
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
