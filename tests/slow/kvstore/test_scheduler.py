"""The scheduler's process, asked over its socket."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import zmq

from dlperf.kvstore import local, peers, wire
from tests.processes import DEADLINE_S

ANSWERS = wire.decoder(peers.FromScheduler)


@contextmanager
def process_of_server(context: zmq.Context, address: str) -> Iterator[zmq.Socket]:
    """The end of server 0 that talks to the scheduler; each of its processes calls itself the same."""
    socket = context.socket(zmq.DEALER)
    socket.linger, socket.rcvtimeo, socket.routing_id = 0, int(1e3 * DEADLINE_S), b"server 0"
    socket.connect(f"tcp://{address}")
    yield socket
    socket.close()


def ask(socket: zmq.Socket, run: int) -> wire.Message:
    socket.send_multipart([wire.encode(peers.Beat("server", 0, run, 0, 0))])
    return wire.decode(socket.recv_multipart()[0], ANSWERS)


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
