"""Messages that no worker sends, for a live server."""

from __future__ import annotations

import random

import torch
import zmq

from dlperf.kvstore import Config, Store, local, peers, wire
from dlperf.kvstore.config import next_port
from tests.processes import DEADLINE_S

BATCH = 200
"""After so many the server is asked for something good, so that no queue drops any."""


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


def check_refused(config: Config, store: Store, count: int, seed: int) -> dict[str, int]:
    """Sends so many malformed messages to a server, at both of its ends, and returns how many each got.

    Fails where it takes no more, or does no longer what ``store`` asks for.
    """
    chance = random.Random(seed)
    value = torch.randn(4)
    store.create("k", value)
    messages = good(store)
    sent = {"front": 0, "back": 0}
    ends = dict(zip(sent, (config.servers[0], next_port(config.servers[0])), strict=True))
    with zmq.Context() as context:
        sockets = {name: context.socket(zmq.DEALER) for name in sent}
        for name, socket in sockets.items():
            socket.linger = 0
            socket.connect(f"tcp://{ends[name]}")
        try:
            while sum(sent.values()) < count:
                for _ in range(BATCH):
                    name = chance.choice(list(sent))
                    assert sockets[name].poll(1e3 * DEADLINE_S, zmq.POLLOUT), f"seed {seed}: it takes nothing any more"
                    sockets[name].send_multipart(damaged(chance, messages), copy=True)
                    sent[name] += 1
                while sockets["front"].poll(0):
                    sockets["front"].recv_multipart()
                assert torch.equal(store.pull("k"), value), f"seed {seed}, after {sent}"
        finally:
            for socket in sockets.values():
                socket.close()
    return sent


def check_goes_on(cluster: local.Cluster) -> None:
    """Fails where a cluster's server has ended, or says a word of a traceback."""
    server = cluster.servers[0]
    assert server is not None
    assert server.exitcode is None
    assert cluster.words().count("Traceback") == 0, cluster.words()
