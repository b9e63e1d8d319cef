"""A server is sent whatever comes to mind: it refuses, counts, and goes on."""

from __future__ import annotations

import random
from typing import Any

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from dlperf.kvstore import SGD, Adam, Momentum, Sum, peers, wire
from dlperf.kvstore.membership import begin, empty, worker_came
from dlperf.kvstore.node import Node
from tests.kvstore.simulated import Disk, config

FRAMES = 100_000
"""So many malformed messages are tried."""


class Sent(list[Any]):
    """What a server sends, noted."""

    def __call__(self, role: str, to: Any, message: wire.Message, frames: Any) -> None:
        self.append(message)


def serving() -> tuple[Node, Sent]:
    """Returns a server that has a tensor and a table, and what it has sent."""
    sent = Sent()
    node = Node(config(1, 2, staleness=None), 0, 7, sent, Disk(), lambda: 1.0)
    view = empty(1, 2)
    view = begin(msgspec.structs.replace(view, runs=(7,)), 1)
    view = worker_came(view, 0, 1)
    node.heard([wire.encode(peers.Heard(10**9, view))])
    front(node, wire.Create(2, 0, 1, 0, 1, "k", 0, "float32", (4,), SGD(0.1)), bytes(16))
    front(node, wire.Create(2, 0, 1, 0, 2, "t", 0, "float32", (4, 2), Sum()), bytes(32))
    assert [type(each) for each in sent] == [wire.Done, wire.Done]
    sent.clear()
    return node, sent


def front(node: Node, message: Any, *frames: Any) -> None:
    node.front(b"somebody", [wire.encode(message), *frames])


def test_random_and_damaged_frames_are_refused_and_counted() -> None:
    chance = random.Random(0)
    node, sent = serving()
    good = [
        [wire.encode(wire.Push(2, 0, 1, 0, 3, "k", 0)), bytes(16)],
        [wire.encode(wire.Push(2, 0, 1, 0, 3, "t", 0)), bytes(16), bytes(8) + b"\1" + bytes(7)],
        [wire.encode(wire.Pull(2, 0, 1, 0, 3, "t", 0)), bytes(8)],
        [wire.encode(wire.Tick(2, 0, 1, 0, 3, 1))],
        [wire.encode(peers.Forward(2, 0, 7, 1)), wire.encode(wire.Tick(2, 0, 1, 0, 3, 1))],
    ]
    answered = 0
    for _ in range(FRAMES):
        frames = [bytearray(frame) for frame in chance.choice(good)]
        match chance.randrange(4):
            case 0:  # noise
                frames = [bytearray(chance.randbytes(chance.randrange(60))) for _ in range(chance.randrange(4))]
            case 1:  # bits of the header turned
                for _ in range(chance.randrange(1, 5)):
                    frames[0][chance.randrange(len(frames[0]))] ^= 1 << chance.randrange(8)
            case 2:  # cut, or longer
                which = chance.randrange(len(frames))
                kept = frames[which][: chance.randrange(len(frames[which]))]
                frames[which] = kept + chance.randbytes(chance.randrange(3))
            case 3:  # frames too many, or too few
                more = [bytearray(chance.randbytes(8))] * chance.randrange(5)
                frames = frames[: chance.randrange(len(frames))] + more
        if chance.random() < 0.7:
            node.front(b"somebody", frames)
            answered += 1
        else:
            node.back(chance.randrange(-1, 3), frames)
    assert len(sent) >= answered
    assert sum(node.refused.values()) > 0.9 * FRAMES  # a bit turned in a key's value or a row may leave a frame right
    front(node, wire.Pull(2, 0, 1, 0, 9, "k", 0))
    assert isinstance(sent[-1], wire.Value)


INTEGERS = st.integers(0, 3) | st.integers(0, 2**62)
KEYS = st.sampled_from(["k", "t", "new"]) | st.text(min_size=1, max_size=200)
HEAD = (st.just(2) | INTEGERS, st.integers(0, 3), st.integers(0, 2), st.integers(0, 1), st.integers(0, 5) | INTEGERS)
SHAPES = st.lists(st.integers(0, 5) | INTEGERS, max_size=2).map(tuple)
UPDATERS = st.sampled_from([Sum(), SGD(0.1), Momentum(0.1), Adam(0.1)])
MESSAGES = st.one_of(
    st.builds(wire.Create, *HEAD, KEYS, INTEGERS, st.sampled_from(list(wire.DTYPES)), SHAPES, UPDATERS),
    st.builds(wire.Push, *HEAD, KEYS, INTEGERS),
    st.builds(wire.Pull, *HEAD, KEYS, INTEGERS),
    st.builds(wire.Tick, *HEAD, INTEGERS),
)


@settings(max_examples=200)
@given(st.lists(st.tuples(MESSAGES, st.lists(st.binary(max_size=40), max_size=3)), max_size=10))
def test_messages_of_the_right_form_and_any_content_are_answered(messages: list[tuple[Any, list[bytes]]]) -> None:
    node, sent = serving()
    for message, frames in messages:
        front(node, message, *frames)
        assert sent  # a refusal, or what was asked for
        sent.clear()
    item = node.replicas[0].range.items["k", 0]  # type: ignore[union-attr]
    assert item.value.shape == (4,)


@given(
    st.recursive(
        st.none() | st.integers(-(2**63), 2**64 - 1) | st.text() | st.binary() | st.floats(), st.lists, max_leaves=10
    )
)
def test_whatever_is_packed_is_no_message(thing: Any) -> None:
    node, sent = serving()
    node.front(b"somebody", [msgspec.msgpack.encode(thing)])
    assert [each.reason for each in sent] == ["malformed"]
    node.back(0, [msgspec.msgpack.encode(thing)])
    assert node.refused["malformed"] == 2
