"""The scheduler's process, asked over its socket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import zmq

from dlperf.kvstore import local, peers, wire
from tests.processes import DEADLINE_S

ANSWERS = wire.decoder(peers.FromScheduler)


@contextmanager
def process_of_server(context: zmq.Context, address: str) -> Iterator[zmq.Socket]:
    """The end of server 0 that talks to the scheduler; each of its processes calls itself the same."""
    socket = context.socket(zmq.DEALER)
    socket.linger, socket.routing_id = 0, b"server 0"
    socket.connect(f"tcp://{address}")
    yield socket
    socket.close()


def ask(socket: zmq.Socket, run: int) -> wire.Message:
    """Returns what the scheduler answers to a beat, which goes out every second: an answer may have gone elsewhere."""
    for _ in range(int(DEADLINE_S)):
        socket.send_multipart([wire.encode(peers.Beat("server", 0, run, 0, 0))])
        if socket.poll(1000):
            return wire.decode(socket.recv_multipart()[0], ANSWERS)
    pytest.fail(f"the scheduler has not answered {DEADLINE_S:g} beats")


def test_who_follows_a_machine_that_closed_nothing_is_heard() -> None:
    """One that lost power, or its cable: its connection stays open for as long as the kernel hopes."""
    config = local.config(1, 1)
    with local.Cluster(config) as cluster:
        cluster.kill(0)  # its place is taken by hand
        context = zmq.Context()
        with process_of_server(context, config.scheduler) as old:
            assert isinstance(ask(old, run=10), peers.Heard)
            with process_of_server(context, config.scheduler) as new:
                assert isinstance(ask(new, run=11), peers.Heard)
        context.destroy(linger=0)
