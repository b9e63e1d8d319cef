"""Asks one server directly, in an epoch that may be over, and notes what it answers: it belongs to no worker.

The chapter *Parameter servers* shows with it that a server which comes back late does not answer for its old ranges.
"""

from __future__ import annotations

import time
from contextlib import AbstractContextManager, suppress
from typing import Any
from urllib.request import urlopen

import zmq
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from dlperf.kvstore import Config, local, wire
from dlperf.servers.live_worker import layers
from dlperf.servers.timeline import Answer, Seen

ANSWER = wire.decoder(wire.ToWorker)
WAIT = 90.0
"""So many seconds may an answer take."""


class Witness(AbstractContextManager):
    """A connection to a ``server``, to read a layer of which it is the tail in a view, in the epoch of that view.

    Raises LookupError where it is the tail of none.
    """

    def __init__(self, config: Config, server: int, view: Seen) -> None:
        self.server, self.epoch, self.number = server, view.epoch, 0
        self.range = next((r for r, chain in enumerate(view.chains) if chain and chain[-1] == server), -1)
        if self.range < 0:
            raise LookupError(f"server {server} is the tail of no range: the chains are {view.chains}")
        self.key = layers(len(config.servers))[self.range]
        self._context = zmq.Context()
        self._socket: Any = self._context.socket(zmq.DEALER)
        self._socket.linger = 0
        self._socket.connect(f"tcp://{config.servers[server]}")

    def send(self) -> None:
        self.number += 1
        self._socket.send(wire.encode(wire.Pull(self.epoch, 0, 0, self.range, self.number, self.key, 0)))

    def hear(self) -> Answer:
        """Returns the next answer; raises TimeoutError where none comes."""
        if not self._socket.poll(1000 * WAIT):
            raise TimeoutError(f"server {self.server} has not answered in {WAIT:g} s")
        message = wire.decode(self._socket.recv_multipart()[0], ANSWER)
        told = (message.reason, message.detail) if isinstance(message, wire.Refusal) else ("value",)
        return Answer(time.monotonic(), self.server, self.epoch, *told)

    def ask(self) -> Answer:
        self.send()
        return self.hear()

    def __exit__(self, *_: object) -> None:
        self._context.destroy()


def epoch(port: int) -> int:
    """Returns the epoch that a server on this machine knows, 0 where it knows none or does not answer yet."""
    with suppress(OSError):
        return int(next(s.value for s in told(port) if s.name == "kvstore_epoch"))
    return 0


def refused(port: int) -> dict[str, int]:
    """Returns what a server on this machine says it has refused, by reason."""
    return {s.labels["reason"]: int(s.value) for s in told(port) if s.name == "kvstore_refused_total"}


def duplicates(port: int) -> int:
    """Returns how many parts of pushes came to a server on this machine which had them already."""
    again = (s for s in told(port) if s.name == "kvstore_duplicates_total")
    return int(sum(s.value for s in again if s.labels["operation"] == "push"))


def told(port: int) -> list[Sample]:
    """Returns the metrics of a server on this machine; ``port`` is theirs. Raises OSError where nobody answers."""
    with urlopen(f"http://{local.loopback()}:{port}/metrics", timeout=WAIT) as answer:
        families = list(text_string_to_metric_families(answer.read().decode()))
    return [sample for family in families for sample in family.samples]
