"""A range of many parts is copied while pushes go on and messages are lost: each push counts once in the copy, too."""

from __future__ import annotations

import random

import pytest
import torch

from dlperf.kvstore import peers, wire
from dlperf.kvstore.copying import Incoming, Outgoing
from dlperf.kvstore.ranges import Range
from dlperf.kvstore.updaters import Sum
from tests.kvstore.simulated import World, config
from tests.kvstore.test_simulated import everybody_is_in, whole

KEYS, PUSHES = 12, 400


def one() -> list[bytes]:
    return [bytes(wire.to_bytes(torch.ones(1, dtype=torch.int64)))]


def made(parts: int) -> Range:
    """Returns a range with so many parts of one number each, all 0."""
    range_ = Range(1, None)
    for number in range(parts):
        zero = [bytes(wire.to_bytes(torch.zeros(1, dtype=torch.int64)))]
        range_.apply(wire.Create(0, 0, 1, 0, number + 1, f"k{number}", 0, "int64", (1,), Sum()), zero)
    return range_


def test_a_part_that_has_an_operation_which_was_lost_on_the_way_does_not_fit() -> None:
    """Else the operation, when it is sent again, would count in that part twice."""
    told: list[tuple[type, tuple, list]] = []
    tail = made(10)
    copy = Outgoing(1, tail, lambda kind, *fields, frames=(): told.append((kind, fields, frames)))
    begin = next(frames for kind, _, frames in told if kind is peers.Begin)
    joins = Incoming(peers.Begin(1, 0, 7, 1), begin, None)
    parts = [(fields, frames) for kind, fields, frames in told if kind is peers.Part]
    for fields, frames in parts:
        assert joins.take(peers.Part(1, 0, 7, *fields), frames)
    push = wire.Push(0, 0, 1, 0, 11, "k9", 0)
    tail.apply(push, one())  # handed on, and lost
    copy.got(peers.Got(1, 0, 7, 1, len(parts)))
    late = [(fields, frames) for kind, fields, frames in told if kind is peers.Part][len(parts) :]
    assert late
    assert not joins.take(peers.Part(1, 0, 7, *late[0][0]), late[0][1])


@pytest.mark.parametrize("seed", range(10))
def test_pushes_count_once_though_servers_join_and_messages_are_lost(seed: int) -> None:
    chance = random.Random(seed)
    told = config(3, 2, copies=2, staleness=None, patience=1000.0)
    world = World(told, seed, loss=0.1, repeats=0.2 * (seed % 2))
    assert world.run(10, lambda: everybody_is_in(world))
    created = [world.create(0, 0, f"k{number}", 1) for number in range(KEYS)]
    assert world.run(200, lambda: all(each.done for each in created))
    counts, left, under_way = [0] * KEYS, [PUSHES], [0, 0]

    def push(worker: int) -> None:
        if not left[0]:
            return
        left[0] -= 1
        key = chance.randrange(KEYS)
        ticket = world.push(worker, 0, f"k{key}", torch.ones(1, dtype=torch.int64))
        under_way[worker] += 1

        def look() -> None:
            if not ticket.done:
                world.at(0.005, look)
                return
            assert ticket.error is None, ticket.error
            counts[key] += 1
            under_way[worker] -= 1
            world.at(chance.uniform(0, 0.05), lambda: push(worker))

        look()

    def replace() -> None:
        if not left[0]:
            return
        if whole(world):
            server = chance.randrange(3)
            world.crash(("server", server))
            world.at(0.5, lambda: world.restart(server, keeps=False))
            world.at(4.0, replace)  # when the scheduler has noticed, and all are whole again: one failure at a time
        else:
            world.at(0.1, replace)

    for worker in range(2):
        push(worker)
        push(worker)
    replace()
    assert world.run(2000, lambda: not left[0] and not any(under_way))
    assert world.run(200, lambda: whole(world))
    found = []
    for number in range(KEYS):
        ticket, got = world.pull(0, 0, f"k{number}")
        assert world.run(200, lambda ticket=ticket: ticket.done)  # type: ignore[misc]
        found.append(got[0][0])
    assert found == counts


def test_messages_of_a_copy_survive_the_wire() -> None:
    part = peers.Part(1, 0, 7, 1, 1, 10, "k", 0, made(1).items["k0", 0].save()[0])
    assert wire.decode(wire.encode(part), wire.decoder(peers.FromPeer)) == part


def test_a_copy_that_begins_twice_is_not_thrown_away() -> None:
    """A connection repeats what it had sent, when all of the copy has come and the server counts."""
    world = World(config(2, 1, copies=2, staleness=None, patience=1000.0), 0)
    assert world.run(10, lambda: everybody_is_in(world))
    made_ = world.create(0, 0, "k", 1)
    assert world.run(10, lambda: made_.done)
    world.crash(("server", 1))
    world.run(5)
    world.restart(1, keeps=False)
    deliver, begun = world._deliver, list[tuple]()

    def listen(sender: object, to: object, frames: list[bytes]) -> None:
        deliver(sender, to, frames)
        if sender == ("server", 0) and to == ("server", 1):
            message = wire.decode(frames[0], wire.decoder(peers.FromPeer))
            begun.extend([(sender, to, frames)] * isinstance(message, peers.Begin))

    world._deliver = listen  # type: ignore[method-assign]
    joins = world.nodes[1].replicas[0]
    assert world.run(30, lambda: joins.range is not None and not joins.range.partial)
    for each in begun:
        deliver(*each)
    assert joins.range is not None
    assert not joins.range.partial


def test_what_the_joining_server_said_before_it_had_all_begins_no_other_copy() -> None:
    told: list[type] = []
    tail = made(10)
    copy = Outgoing(1, tail, lambda kind, *fields, frames=(): told.append(kind))
    assert not copy.is_past(peers.Have(1, 0, 7, 0, True, copy=1))
    copy.got(peers.Got(1, 0, 7, 1, 4))
    assert copy.is_past(peers.Have(1, 0, 7, 0, True, copy=1))
    assert copy.is_past(peers.Have(1, 0, 7, 9, False, True, copy=1))
    assert not copy.is_past(peers.Have(1, 0, 7, 10, False, True, copy=1))
