"""Schedules that once lost something, counted it twice, or ended a server: each was found by a reader of the code."""

from __future__ import annotations

import msgspec
import pytest
import torch

from dlperf.kvstore import membership, peers, updaters, wire
from dlperf.kvstore.scheduling import Scheduler
from dlperf.kvstore.updaters import SGD, Adam, Momentum
from tests.kvstore.simulated import World, config
from tests.kvstore.test_simulated import everybody_is_in, whole


def number(value: int) -> torch.Tensor:
    return torch.tensor([value])


def world(servers: int, workers: int, **options: object) -> World:
    found = World(config(servers, workers, **{"staleness": None, "patience": 1000.0, **options}), 0)
    assert found.run(10, lambda: everybody_is_in(found))
    found.run(1)
    return found


def holding(servers: int, workers: int, **options: object) -> World:
    """Returns a cluster that has the key "k", one number, in range 0."""
    found = world(servers, workers, **options)
    made = found.create(0, 0, "k", 1)
    assert found.run(10, lambda: made.done)
    return found


def test_what_was_refused_never_counts_and_what_follows_it_counts_once() -> None:
    """The server is silent for so long that both pushes are sent twice, and the key comes between the copies."""
    it = world(2, 2)
    it.pause(("server", 0))
    refused, counts = it.push(0, 0, "k", number(1)), it.push(0, 0, "k", number(10))
    it.run(0.2)
    made = it.create(1, 0, "k", 1)
    it.run(1.2)
    it.resume(("server", 0))
    assert it.run(20, lambda: refused.done and counts.done and made.done)
    read, got = it.pull(0, 0, "k")
    assert it.run(10, lambda: read.done)
    assert got == [[sum(n for n, push in ((1, refused), (10, counts)) if push.error is None)]]


def test_a_refusal_is_said_again_by_the_server_that_takes_over() -> None:
    it = world(2, 1, copies=2)
    refused = it.push(0, 0, "k", number(1))
    assert it.run(10, lambda: refused.done)
    assert it.nodes[1].replicas[0].range.why_refused(refused.message)[0] == "unknown key"


def test_a_third_copy_is_made_where_two_servers_come_back_at_once() -> None:
    it = holding(3, 1, copies=3)
    for server in (1, 2):
        it.crash(("server", server))
    it.run(5)
    for server in (1, 2):
        it.restart(server, keeps=False)
    assert it.run(120, lambda: all(len(chain) == 3 for chain in it.scheduler.view.chains))


@pytest.mark.parametrize("updater", [SGD(1e39), Momentum(1e39), Adam(1e39)])
def test_a_rate_that_the_type_cannot_hold_is_refused_before_a_server_takes_a_step(updater: updaters.Updater) -> None:
    with pytest.raises(ValueError, match="cannot take a step with torch"):
        updaters.check(updater, torch.float32)
    updaters.check(updater, torch.float64)


def test_the_scheduler_drops_word_of_a_range_that_is_none() -> None:
    it = world(2, 1, copies=2)
    before = it.scheduler.view
    assert it.scheduler.handle(peers.CaughtUp(before.epoch, 60000, 0), it.now) is None
    assert it.scheduler.view == before


def test_a_large_range_is_copied_although_messages_are_lost() -> None:
    it = world(2, 1, copies=2)
    made = [it.create(0, 0, f"k{n}", 1) for n in range(400)]
    assert it.run(200, lambda: all(each.done for each in made))
    it.crash(("server", 1))
    it.run(5)
    it.restart(1, keeps=False)
    it.loss = 0.02
    assert it.run(600, lambda: whole(it))
    assert sorted(it.nodes[1].replicas[0].range.items) == sorted(it.nodes[0].replicas[0].range.items)


def test_servers_that_lose_power_together_leave_any_of_them_to_bring_the_range_back() -> None:
    it = holding(2, 1, copies=2)
    for server in (0, 1):
        it.crash(("server", server))
    it.run(5)
    it.restart(0, keeps=True)
    it.run(5)
    it.restart(1, keeps=False)
    it.run(5)
    read, _ = it.pull(0, 0, "k")
    assert it.run(30, lambda: read.done)
    assert read.error is None


def test_the_successor_waits_until_the_lease_of_a_process_ends_that_another_replaces() -> None:
    told = config(1, 1, dead=2.0)
    scheduler = Scheduler(told, lambda _: None, 0.0)
    beat = lambda run, at, epoch=0: scheduler.handle(peers.Beat("server", 0, run, epoch, 0), at)
    beat(101, 1.0)
    assert scheduler.view.runs == (101,)
    beat(102, 2.0)
    assert scheduler.view.runs == (101,)
    beat(102, 2.9)
    assert scheduler.view.runs == (101,)
    beat(102, 3.1)
    assert scheduler.view.runs == (102,)


def test_operations_for_a_server_that_takes_none_are_kept_to_a_bound() -> None:
    it = holding(2, 1, copies=2)
    it.crash(("server", 1))
    it.run(5)
    it.restart(1, keeps=False)
    deliver, begun = it._deliver, []

    def cut(sender: object, to: object, frames: list[bytes]) -> None:
        if (sender, to) == (("server", 0), ("server", 1)):
            message = wire.decode(frames[0], wire.decoder(peers.FromPeer))
            begun.extend([1] * (isinstance(message, peers.Begin) and message.range == 0))
            if begun:
                return
        deliver(sender, to, frames)

    it._deliver = cut
    it.run(3)
    for _ in range(600):
        push = it.push(0, 0, "k", number(1))
        assert it.run(20, lambda push=push: push.done)
    assert len(it.nodes[0].replicas[0].log) < 300


def test_reads_do_not_keep_a_worker_waiting_for_one_that_is_gone() -> None:
    it = world(2, 2, staleness=0, patience=3.0)
    made = [it.create(0, r, f"k{r}", 1) for r in (0, 1)]
    it.run(2)
    assert all(each.done for each in made)
    it.crash(it.who[1])
    ticks = it.tick(0, 1)
    for _ in range(10):
        for r in (0, 1):
            it.pull(0, r, f"k{r}")
        it.run(1)
    assert all(tick.done for tick in ticks)


def test_the_only_one_that_has_all_of_a_range_stays_until_another_has() -> None:
    view = membership.begin(msgspec.structs.replace(membership.empty(2, 1), runs=(101, 102)), 2)
    view = membership.servers_gone(view, [1], 2)
    assert not membership.is_needed(view, 0)  # nobody could take over
    view = membership.server_came(view, 1, 202, (), 2)
    assert membership.is_needed(view, 0)
    for range_ in (0, 1):
        view = membership.caught_up(view, range_, 1, 2)
    assert not membership.is_needed(view, 0)


def test_a_push_whose_acknowledgement_was_lost_is_told_as_one_that_came_again() -> None:
    """One that was refused is none: it did not count."""
    it = holding(1, 1)
    deliver, lost = it._deliver, [0]

    def lose(sender: object, to: object, frames: list[bytes]) -> None:
        answer = sender == ("server", 0) and to != "scheduler"
        lost[0] += answer
        if not answer or lost[0] % 2 == 0:
            deliver(sender, to, frames)

    it._deliver = lose
    push = it.push(0, 0, "k", number(1))
    assert it.run(20, lambda: push.done)
    refused = it.push(0, 0, "none", number(1))
    assert it.run(20, lambda: refused.done)
    assert lost == [4]
    assert it.nodes[0].duplicates == {"push": 1}
