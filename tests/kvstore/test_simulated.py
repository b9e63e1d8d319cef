"""Random faults in a simulated cluster: nothing acknowledged is lost, nothing counts twice, nothing hangs."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch

from dlperf.kvstore.history import Addition, Read, objections
from dlperf.kvstore.membership import NOBODY
from tests.kvstore.simulated import World, config

PLACES = 300
FAULTS = "crash", "pause", "cut", "pair", "apart", "scheduler", "pause and scheduler", "replace"


def whole(world: World) -> bool:
    """Returns whether every range has all its copies: only then is one more server allowed to fail."""
    view = world.scheduler.view
    chains = all(len(chain) == world.config.copies and view.is_up(r) for r, chain in enumerate(view.chains))
    return chains and set(view.joining) == {NOBODY} and not world.scheduler.recovering


def suffer(world: World, chance: random.Random, disks: bool) -> None:
    """Has one machine at a time suffer something, and all recover before the next."""
    if not whole(world):
        world.at(0.2, lambda: suffer(world, chance, disks))
        return
    who = ("server", chance.randrange(len(world.config.servers)))
    what, long = chance.choice(FAULTS), chance.uniform(0.1, 5.0)
    if what == "crash":
        world.crash(who)
        world.at(long, lambda: world.restart(who[1], keeps=disks))
    elif what == "pause":
        world.pause(who)
        world.at(long, lambda: world.resume(who))
    elif what == "pause and scheduler":  # which comes back before the server does, and recovers without it
        world.pause(who)
        world.crash("scheduler")
        world.at(0.1, world.restart_scheduler)
        world.at(long, lambda: world.resume(who))
    elif what == "replace":  # while it is silent; then it comes back, and believes that it serves
        world.pause(who)
        run = world.nodes[who[1]].run
        world.at(long, lambda: world.replace(who[1], keeps=disks))
        world.at(long + 2.5, lambda: world.wake(run))
    elif what == "cut":
        world.cut.add(who)
        world.at(long, lambda: world.cut.discard(who))
    elif what == "pair":
        servers = range(len(world.config.servers))
        pair = frozenset(("server", server) for server in chance.sample(servers, 2))
        world.cut.add(pair)
        world.at(long, lambda: world.cut.discard(pair))
    elif what == "apart":  # a server and a worker reach each other, and nobody else
        pairs = apart(world, who[1], 0)
        world.at(long, lambda: world.cut.difference_update(pairs))
    else:
        world.crash("scheduler")
        world.at(long, world.restart_scheduler)
    world.at(long + 3.0, lambda: suffer(world, chance, disks))


def apart(world: World, server: int, worker: int) -> set[frozenset[Any]]:
    """Cuts off a server and a worker from all others, but not from each other; returns the pairs that are cut."""
    both = {("server", server), world.who[worker]}
    others = {"scheduler", *(("server", s) for s in range(len(world.config.servers))), *world.who.values()} - both
    pairs = {frozenset((one, other)) for one in both for other in others}
    world.cut |= pairs
    return pairs


def test_a_server_that_was_replaced_while_it_was_silent_counts_no_more() -> None:
    """Not even where its successor is the last that has what was acknowledged since."""
    world = World(config(2, 1, copies=2, staleness=None, patience=1000.0), 0)
    assert world.run(10, lambda: everybody_is_in(world))
    ticket = world.create(0, 0, "k", 1)
    assert world.run(60, lambda: ticket.done)

    def push() -> None:
        ticket = world.push(0, 0, "k", torch.ones(1, dtype=torch.int64))
        assert world.run(60, lambda: ticket.done)
        assert ticket.error is None

    for _ in range(3):
        push()
    world.pause(("server", 0))
    push()
    run = world.replace(0, keeps=False)
    assert world.run(60, lambda: whole(world))
    push()
    world.crash(("server", 1))
    push()
    world.wake(run)
    world.run(10)
    assert world.former[run].unwelcome == "another process is server 0 now"
    ticket, got = world.pull(0, 0, "k")
    assert world.run(60, lambda: ticket.done)
    assert got == [[6]]


def everybody_is_in(world: World) -> bool:
    return all(client.view.epoch and client.view.workers[client.me] for client in world.clients)


def busy(world: World, chance: random.Random, additions: list[Addition], reads: list[Read]) -> Callable[[], bool]:
    """Has every worker push and pull in a row, and note when; returns what tells whether they are through."""
    places = iter(range(PLACES))

    def act(worker: int) -> None:
        begin, place = world.now, next(places, None)
        if place is None:
            return
        if chance.random() < 0.6:
            one = torch.zeros(PLACES, dtype=torch.int64)
            one[place] = 1
            ticket = world.push(worker, 0, "k", one)
            note = lambda: additions.append(Addition(place, begin, world.now))
        else:
            ticket, got = world.pull(worker, 0, "k")
            note = lambda: reads.append(Read(tuple(got[0]), begin, world.now))

        def look() -> None:
            if ticket.done:
                assert ticket.error is None, ticket.error
                note()
                world.at(chance.uniform(0, 0.2), lambda: act(worker))
            else:
                world.at(0.005, look)

        look()

    for worker in range(world.config.workers):
        act(worker)
    return lambda: len(additions) + len(reads) == PLACES


@pytest.mark.parametrize(("loss", "repeats"), [(0.0, 0.0), (0.1, 0.0), (0.05, 0.1)])
@pytest.mark.parametrize("seed", range(8))
def test_what_is_acknowledged_stays_and_counts_once(seed: int, loss: float, repeats: float) -> None:
    world, found = what_happens(seed, loss, repeats)
    assert found == []
    assert (world.repeated > 1000) == (repeats > 0)
    assert duplicates(world) > 0 or not loss


def duplicates(world: World) -> int:
    """Returns how many pushes servers say that they received again, those that have ended left out."""
    return sum(node.duplicates["push"] for node in world.nodes)


def what_happens(seed: int, loss: float, repeats: float) -> tuple[World, list[str]]:
    """Returns a world after random faults, and what speaks against all that its workers saw."""
    chance = random.Random(seed)
    copies = 2 + seed % 2
    told = config(4, 2, copies=copies, staleness=None, patience=1000.0)
    world = World(told, seed, loss, repeats=repeats)
    return world, objections_after_faults(world, chance, disks=bool(seed % 4))


def objections_after_faults(world: World, chance: random.Random, disks: bool) -> list[str]:
    """Has two workers add and read while random faults go on; returns what speaks against all that they saw."""
    assert world.run(10, lambda: everybody_is_in(world))
    made = [world.create(worker, 0, "k", PLACES) for worker in range(2)]
    assert world.run(60, lambda: all(each.done for each in made))
    additions: list[Addition] = []
    reads: list[Read] = []
    world.at(1.0, lambda: suffer(world, chance, disks=disks))
    done = busy(world, chance, additions, reads)
    assert world.run(1000, done), f"{len(additions)} additions and {len(reads)} reads in {world.now} s"
    last, got = world.pull(0, 0, "k")
    begin = world.now
    assert world.run(100, lambda: last.done)
    reads.append(Read(tuple(got[0]), begin, world.now))
    found = objections(additions, reads)
    return found + [f"{sum(got[0])} of {len(additions)} additions are there"] * (sum(got[0]) != len(additions))


@pytest.mark.parametrize("seed", range(4))
def test_after_a_power_cut_all_is_there(seed: int) -> None:
    chance = random.Random(seed)
    world = World(config(3, 2, copies=2, staleness=None, patience=1000.0), seed, repeats=0.1 * (seed % 2))
    assert world.run(10, lambda: everybody_is_in(world))
    made = [world.create(worker, 0, "k", PLACES) for worker in range(2)]
    assert world.run(60, lambda: all(each.done for each in made))
    additions: list[Addition] = []
    reads: list[Read] = []
    done = busy(world, chance, additions, reads)
    for _ in range(3):
        world.run(chance.uniform(0.5, 3.0))
        for who in ("scheduler", *(("server", server) for server in range(3))):
            world.crash(who)
        world.run(chance.uniform(0.1, 2.0))
        world.restart_scheduler()
        for server in chance.sample(range(3), 3):
            world.run(chance.uniform(0.0, 0.5))
            world.restart(server, keeps=True)
    assert world.run(1000, done)
    assert objections(additions, reads) == []


@pytest.mark.parametrize("on_lost", ["drop", "error", "wait"])
def test_a_worker_that_is_gone_is_dropped_told_of_or_waited_for(on_lost: str) -> None:
    world = World(config(2, 2, on_lost=on_lost, patience=20.0), 0)
    assert world.run(10, lambda: everybody_is_in(world))
    world.crash(world.who[1])
    ticks = world.tick(0, 1)
    world.run(30, lambda: all(each.done for each in ticks))
    assert all(each.done for each in ticks), "it hangs"
    said = {str(each.error) for each in ticks}
    if on_lost == "drop":
        assert said == {"None"}
    elif on_lost == "error":
        assert said == {"worker 1 is lost, and has not ended round 0"}
    else:
        assert len(said) == 2  # one for each range
        assert all("worker 1 has not come so far in 20 s" in each for each in said)


@pytest.mark.parametrize("seed", range(6))
def test_a_round_is_the_same_for_all_whatever_fails(seed: int) -> None:
    """After round n everybody reads what everybody pushed in n rounds, no more and no less."""
    chance = random.Random(seed)
    world = World(config(3, 3, copies=2, staleness=0, patience=1000.0), seed, 0.05, repeats=0.1 * (seed % 2))
    assert world.run(10, lambda: everybody_is_in(world))
    made = [world.create(worker, 0, "k", 3) for worker in range(3)]
    assert world.run(60, lambda: all(each.done for each in made))
    world.at(0.5, lambda: suffer(world, chance, disks=False))
    finished = [0] * 3
    rounds = 25

    def work(worker: int, number: int) -> None:
        one = torch.zeros(3, dtype=torch.int64)
        one[worker] = number + 1
        push = world.push(worker, 0, "k", one)
        then(push, lambda: ended(worker, number))

    def ended(worker: int, number: int) -> None:
        ticks = world.tick(worker, number + 1)
        then(ticks, lambda: read(worker, number))

    def read(worker: int, number: int) -> None:
        ticket, got = world.pull(worker, 0, "k")

        def compare() -> None:
            assert got[0] == [sum(range(1, number + 2))] * 3
            finished[worker] = number + 1
            if number + 1 < rounds:
                world.at(chance.uniform(0, 0.3), lambda: work(worker, number + 1))

        then(ticket, compare)

    def then(tickets: object, act: Callable[[], None]) -> None:
        some = tickets if isinstance(tickets, list) else [tickets]
        if all(each.done for each in some):
            assert not [each.error for each in some if each.error]
            act()
        else:
            world.at(0.01, lambda: then(some, act))

    for worker in range(3):
        work(worker, 0)
    assert world.run(2000, lambda: finished == [rounds] * 3), finished


def test_more_workers_than_servers_are_simulated_too() -> None:
    world = World(config(1, 2), 0)
    assert world.run(10, lambda: everybody_is_in(world))
