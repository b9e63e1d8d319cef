"""When a range passes to another server: what was acknowledged is there, and no old value is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
import torch

from dlperf.kvstore import membership, peers, wire
from dlperf.kvstore.config import Config
from dlperf.kvstore.membership import View
from dlperf.kvstore.node import Node
from dlperf.kvstore.updaters import Sum

CONFIG = Config(
    scheduler="127.0.0.1:5570", servers=("127.0.0.1:5571", "127.0.0.1:5581"), workers=1, copies=2, staleness=None
)
RANGE = 0


class Nothing:
    """No disk."""

    def append(self, *_: Any) -> None: ...
    def replace(self, *_: Any) -> None: ...
    def drop(self, *_: Any) -> None: ...
    def since(self, *_: Any) -> list[Any]:
        return []


class Two:
    """Two servers, a worker's letters to them, and views that each hears of when it is told to."""

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        self.post: list[tuple[int, int, list[bytes]]] = []
        self.answers: list[Any] = []
        self.values: list[float] = []
        self.caught_up: list[peers.CaughtUp] = []
        self.numbers = 0
        for server in (0, 1):
            self.start(server, 101 + server)
        view = msgspec.structs.replace(membership.empty(2, 1), runs=(101, 102))
        self.view = membership.begin(membership.worker_came(view, 0, 1), CONFIG.copies)
        self.tell(0, 1)

    def start(self, server: int, run: int) -> None:
        def send(role: str, to: Any, message: Any, frames: Sequence[Any]) -> None:
            if role == "server":
                self.post.append((server, to, [wire.encode(message), *map(bytes, frames)]))
            elif role == "worker":
                self.answers.append(message)
                self.values += [float(torch.frombuffer(bytearray(frame), dtype=torch.float32)[0]) for frame in frames]
            elif isinstance(message, peers.CaughtUp):
                self.caught_up.append(message)

        self.nodes[server] = Node(CONFIG, server, run, send, Nothing(), lambda: 0.0)

    def deliver(self) -> None:
        while self.post:
            sender, to, frames = self.post.pop(0)
            if to in self.nodes:
                self.nodes[to].back(sender, frames)

    def tell(self, *servers: int) -> None:
        for server in servers:
            self.nodes[server].heard([wire.encode(peers.Heard(0, self.view))])
        self.deliver()

    def ask(self, server: int, view: View, kind: Any, *more: Any, value: float | None = None) -> Any:
        """Returns the answer to a request, if there is one."""
        self.numbers += 1
        self.answers.clear()
        frames = [] if value is None else [torch.full((4,), value).numpy().tobytes()]
        message = kind(view.epoch, 0, 2**20, RANGE, self.numbers, *more)
        self.nodes[server].front(b"worker", [wire.encode(message), *frames])
        self.deliver()
        return self.answers[-1] if self.answers else None

    def create(self) -> None:
        self.ask(0, self.view, wire.Create, "w", 0, "float32", (4,), Sum(), value=0.0)

    def push(self, server: int, view: View, value: float) -> Any:
        return self.ask(server, view, wire.Push, "w", 0, value=value)

    def pull(self, server: int, view: View) -> Any:
        self.values.clear()
        return self.ask(server, view, wire.Pull, "w", 0)


@pytest.fixture
def two() -> Two:
    two = Two()
    two.create()
    assert isinstance(two.push(0, two.view, 1.0), wire.Done)
    return two


def joins_again(two: Two) -> None:
    """Server 1 has been started again, and been filled, but nobody has been told so yet."""
    del two.nodes[1]
    two.view = membership.servers_gone(two.view, [1], CONFIG.copies)
    two.tell(0)
    two.start(1, 202)
    two.view = membership.server_came(two.view, 1, 202, (), CONFIG.copies)
    two.tell(0, 1)
    for _ in range(3):
        two.nodes[0].nudge()
        two.deliver()


def test_what_a_tail_acknowledges_after_its_successor_knows_is_not_lost(two: Two) -> None:
    joins_again(two)
    before = two.view
    assert any(each.range == RANGE for each in two.caught_up)
    two.view = membership.caught_up(two.view, RANGE, 1, CONFIG.copies)
    two.tell(1)  # and nobody else hears of it
    answer = two.push(0, before, 10.0)
    assert not isinstance(answer, wire.Done)
    refused = two.pull(0, before)
    assert refused.reason == "not ready"  # the value has what may not come to count
    del two.nodes[0]
    two.view = membership.servers_gone(two.view, [0], CONFIG.copies)
    two.tell(1)
    assert isinstance(two.pull(1, two.view), wire.Value)
    assert two.values == [1.0]


def test_while_a_server_joins_pushes_count_when_it_has_them(two: Two) -> None:
    joins_again(two)
    assert isinstance(two.push(0, two.view, 10.0), wire.Done)
    assert isinstance(two.pull(0, two.view), wire.Value)
    assert two.values == [11.0]
    two.view = membership.caught_up(two.view, RANGE, 1, CONFIG.copies)
    two.tell(0, 1)
    assert isinstance(two.pull(1, two.view), wire.Value)
    assert two.values == [11.0]


def test_if_who_joins_is_lost_what_waited_for_it_counts(two: Two) -> None:
    joins_again(two)
    del two.nodes[1]
    assert two.push(0, two.view, 10.0) is None
    two.view = membership.servers_gone(two.view, [1], CONFIG.copies)
    two.tell(0)
    two.numbers -= 1
    assert isinstance(two.push(0, two.view, 10.0), wire.Done)  # sent again, and counted once
    assert isinstance(two.pull(0, two.view), wire.Value)
    assert two.values == [11.0]


def test_who_leaves_answers_no_more_reads(two: Two) -> None:
    before = two.view
    two.nodes[1].leaving = True
    two.view = membership.servers_gone(two.view, [1], CONFIG.copies)
    two.tell(0)
    assert isinstance(two.push(0, two.view, 7.0), wire.Done)
    assert two.pull(1, before).reason == "not ready"
