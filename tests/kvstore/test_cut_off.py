"""Two servers of a chain whose link is cut, while both reach the scheduler: one of them goes, and pushes go on."""

from __future__ import annotations

import pytest

from dlperf.kvstore import peers, wire
from tests.kvstore.simulated import World
from tests.kvstore.test_found import holding, number, world
from tests.kvstore.test_power import value
from tests.kvstore.test_simulated import whole


def cut(it: World, one: int, other: int) -> None:
    it.cut.add(frozenset((("server", one), ("server", other))))


def pushes(it: World, *values: int) -> None:
    for each in values:
        push = it.push(0, 0, "k", number(each))
        assert it.run(60, lambda push=push: push.done)  # type: ignore[misc]
        assert push.error is None


@pytest.mark.parametrize("servers", [2, 3])
def test_pushes_go_on_without_the_one_that_is_not_reached(servers: int) -> None:
    it = holding(servers, 1, copies=2, patience=60.0)
    cut(it, 0, 1)
    pushes(it, 1, 10)
    assert value(it) == [[11]]
    assert it.run(60, lambda: all(it.scheduler.view.runs))  # it came back, to be filled up
    if servers == 3:
        assert it.run(60, lambda: whole(it))
        assert it.scheduler.view.chains[0] == (0, 2)
    it.cut.clear()
    assert it.run(60, lambda: whole(it))
    pushes(it, 100)
    assert value(it) == [[111]]


def test_in_a_chain_of_three_only_who_is_not_reached_goes() -> None:
    """The head hears nothing of the tail's acknowledgements either, and does not complain of the one between."""
    it = holding(4, 1, copies=3, patience=60.0)
    said: list[peers.Stuck] = []
    handle = it.scheduler.handle

    def listen(message: object, now: float) -> wire.Message | None:
        said.extend([message] if isinstance(message, peers.Stuck) else [])
        return handle(message, now)

    it.scheduler.handle = listen  # type: ignore[method-assign]
    cut(it, 1, 2)
    pushes(it, 1)
    assert {(each.server, each.next) for each in said if each.range in (0, 1)} == {(1, 2)}
    assert it.run(60, lambda: whole(it))
    assert value(it) == [[1]]


def test_where_each_complains_of_the_other_one_goes_and_comes_back_once() -> None:
    """Server 0 is before server 1 in range 0, and behind it in range 1; while their link is cut, nothing flaps."""
    it = world(2, 1, copies=2, patience=60.0)
    made = [it.create(0, range_, "k", 1) for range_ in (0, 1)]
    assert it.run(10, lambda: all(each.done for each in made))
    cut(it, 0, 1)
    waiting = [it.push(0, range_, "k", number(1)) for range_ in (0, 1)]
    assert it.run(60, lambda: all(each.done for each in waiting))
    assert it.run(10, lambda: all(it.scheduler.view.runs))
    epoch = it.scheduler.view.epoch
    for _ in range(10):
        pushes(it, 1)
        it.run(5)
    assert it.scheduler.view.epoch == epoch
    assert value(it) == [[11]]


def test_nobody_reads_old_values_from_the_one_that_goes() -> None:
    """It is the tail, and hears of the scheduler until then: its lease must end before others go on."""
    it = holding(2, 1, copies=2, patience=60.0)
    cut(it, 0, 1)
    old = it.scheduler.view
    push = it.push(0, 0, "k", number(1))
    tail = it.nodes[1]
    assert it.run(60, lambda: push.done or it.scheduler.view.epoch > old.epoch)
    assert tail.view.epoch == old.epoch
    assert tail.lease < it.now


def test_a_link_that_is_cut_for_a_moment_costs_nobody_the_seat() -> None:
    it = holding(2, 1, copies=2, patience=60.0)
    epoch = it.scheduler.view.epoch
    for _ in range(5):
        cut(it, 0, 1)
        push = it.push(0, 0, "k", number(1))
        it.run(it.config.dead / 2)
        it.cut.clear()
        assert it.run(60, lambda push=push: push.done)  # type: ignore[misc]
        it.run(2)
    assert it.scheduler.view.epoch == epoch
    assert value(it) == [[5]]


def test_who_was_paused_complains_of_nobody_before_it_has_looked() -> None:
    """The link was cut before, for a moment, and has long been mended when it looks at its clock."""
    it = holding(3, 1, copies=2, patience=60.0)
    epoch = it.scheduler.view.epoch
    cut(it, 0, 1)
    push = it.push(0, 0, "k", number(1))
    it.run(1.2)
    it.pause(("server", 0))
    it.cut.clear()
    it.run(1.4)
    it.resume(("server", 0))
    assert it.run(60, lambda: push.done)
    it.run(5)
    assert it.scheduler.view.epoch == epoch
