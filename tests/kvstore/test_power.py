"""All lose power at once: whoever has a range on its disk holds it again, with the others that have it."""

from __future__ import annotations

import msgspec
import pytest

from dlperf.kvstore import peers, wire
from dlperf.kvstore.copying import Incoming, Outgoing
from dlperf.kvstore.ranges import Range, Session
from tests.kvstore.simulated import World
from tests.kvstore.test_found import holding, number, world
from tests.kvstore.test_simulated import whole


def lose_power(it: World, first: int = 0) -> None:
    """All end, and all come back with their disks, server ``first`` before the others; then the view is the next."""
    servers = range(len(it.config.servers))
    for who in ("scheduler", *(("server", server) for server in servers)):
        it.crash(who)
    it.run(1)
    it.restart_scheduler()
    for server in (first, *(each for each in servers if each != first)):
        it.restart(server, keeps=True)
    assert it.run(60, lambda: not it.scheduler.recovering)


def dies_with_its_disk(it: World, server: int) -> None:
    it.crash(("server", server))
    it.run(5)
    it.restart(server, keeps=False)


def value(it: World, key: str = "k") -> list[list[int]]:
    read, got = it.pull(0, 0, key)
    assert it.run(200, lambda: read.done)
    assert read.error is None
    return got


@pytest.mark.parametrize("first", [0, 1])
def test_a_disk_that_dies_right_after_a_power_cut_takes_no_range_that_another_has(first: int) -> None:
    it = world(2, 1, copies=2)
    made, push = it.create(0, 0, "k", 1), it.push(0, 0, "k", number(7))
    assert it.run(10, lambda: made.done and push.done)
    lose_power(it, first)
    dies_with_its_disk(it, it.scheduler.view.chains[0][0])
    assert value(it) == [[7]]


def test_nor_where_the_last_operations_had_reached_one_disk_only() -> None:
    """Who has more gives the others what they lack, from the log on its disk."""
    it = holding(2, 1, copies=2)
    it.pause(("server", 1))
    pushes = [it.push(0, 0, "k", number(n)) for n in (1, 10, 100)]
    it.run(1)
    ahead, behind = (it.nodes[server].replicas[0].range for server in (0, 1))
    assert ahead is not None
    assert behind is not None
    assert ahead.index == behind.index + 3
    lose_power(it)
    assert it.scheduler.view.chains[0] == (0, 1)
    assert it.run(30, lambda: all(push.done for push in pushes))
    dies_with_its_disk(it, 0)
    assert value(it) == [[111]]


def test_one_whose_log_does_not_reach_back_to_what_another_lacks_has_it_filled_up() -> None:
    it = holding(2, 1, copies=2)
    it.pause(("server", 1))
    push = it.push(0, 0, "k", number(3))
    it.run(1)
    it.disks[0].logs[0].clear()  # as if a new snapshot had been put down meanwhile
    lose_power(it)
    assert it.run(60, lambda: push.done and whole(it))
    dies_with_its_disk(it, 0)
    assert value(it) == [[3]]


def test_one_that_comes_late_is_filled_up() -> None:
    it = holding(2, 1, copies=2)
    for who in ("scheduler", ("server", 0), ("server", 1)):
        it.crash(who)
    it.run(1)
    it.restart_scheduler()
    it.restart(1, keeps=True)
    push = it.push(0, 0, "k", number(5))
    assert it.run(30, lambda: push.done)
    it.restart(0, keeps=True)
    assert it.run(30, lambda: whole(it))
    dies_with_its_disk(it, 1)
    assert value(it) == [[5]]


def test_what_two_thousand_workers_were_refused_passes_the_wire_when_a_copy_begins() -> None:
    """All of it in a header, a server that joined would refuse it, and be none of the chain ever."""
    range_ = Range(2048, None)
    why = dict.fromkeys(range(20), ("unknown key", "there is no such key: create it first"))
    range_.sessions = [Session(2**40 + worker, 2**40, 2**40, why) for worker in range(2048)]
    told = []
    Outgoing(1, range_, lambda kind, *fields, frames=(): told.append((kind(1, 0, 7, *fields), frames)))
    begin, frames = told[0]
    assert isinstance(wire.decode(wire.encode(begin), wire.decoder(peers.FromPeer)), peers.Begin)
    assert all(len(frame) <= wire.PAYLOAD for frame in frames)
    assert Incoming(begin, frames, None).range.table() == range_.table()
    with pytest.raises(Exception, match="this is no table"):
        Incoming(begin, [msgspec.msgpack.encode(["no", "table"])], None)
