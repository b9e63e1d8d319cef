"""Faults find a store that counts again what comes again, and those whose servers go on with what is over."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import msgspec
import pytest
import torch

from dlperf.kvstore import wire
from dlperf.kvstore.history import Addition, Read, objections
from dlperf.kvstore.node import Node
from dlperf.kvstore.ranges import Again, Gap, Range
from tests.kvstore.test_found import world
from tests.kvstore.test_simulated import apart, what_happens


def counts_again(patch: pytest.MonkeyPatch) -> None:
    check_turn = Range.check_turn

    def never_again(self: Range, op: wire.Request) -> None:
        with suppress(Again, Gap):
            check_turn(self, op)

    patch.setattr(Range, "check_turn", never_again)


def believes_its_lease(patch: pytest.MonkeyPatch) -> None:
    heard = Node.heard

    def forever(self: Node, frames: Any) -> None:
        heard(self, frames)
        self.lease = float("inf")

    patch.setattr(Node, "heard", forever)


def hears_any_epoch(patch: pytest.MonkeyPatch) -> None:
    back, decode = Node.back, wire.decode

    def heard_as_of_today(self: Node, sender: int, frames: Any) -> None:
        def decode_once(frame: Any, types: Any) -> Any:
            patch.setattr(wire, "decode", decode)
            message = decode(frame, types)
            if message is None or not 0 <= sender < len(self.view.runs):
                return message
            return msgspec.structs.replace(message, epoch=self.view.epoch, run=self.view.runs[sender])

        patch.setattr(wire, "decode", decode_once)
        back(self, sender, frames)

    patch.setattr(Node, "back", heard_as_of_today)


def one(place: int) -> torch.Tensor:
    return torch.tensor([int(each == place) for each in range(2)])


def found_apart(who: str) -> list[str]:
    """Returns what speaks against the history of two workers, of whom one is apart with a server of the range.

    That is the "tail", which the worker reads from; or the "head", paused instead, which the others go on without.
    """
    it = world(3, 2, copies=2)
    made = it.create(0, 0, "k", 2)
    assert it.run(10, lambda: made.done)
    chain = it.scheduler.view.chains[0]
    if who == "tail":
        apart(it, chain[-1], 0)
    else:
        it.pause(("server", chain[0]))
    begin = it.now
    push = it.push(1, 0, "k", one(0))
    assert it.run(60, lambda: push.done)
    additions = [Addition(0, begin, it.now)]
    it.run(0.1)
    since = it.now
    read, got = it.pull(0, 0, "k")
    it.run(5)
    it.cut.clear()
    it.resume(("server", chain[0]))
    assert it.run(60, lambda: read.done)
    return objections(additions, [Read(tuple(got[0]), since, it.now)])


@pytest.mark.parametrize("who", ["tail", "head"])
def test_a_worker_that_is_apart_with_a_server_reads_nothing_old(who: str) -> None:
    assert found_apart(who) == []


def test_without_an_end_of_leases_it_would(monkeypatch: pytest.MonkeyPatch) -> None:
    believes_its_lease(monkeypatch)
    assert "acknowledged, and then not read" in found_apart("tail")[0]


def test_random_faults_find_a_store_that_counts_again(monkeypatch: pytest.MonkeyPatch) -> None:
    counts_again(monkeypatch)
    for seed in range(20):
        with suppress(AssertionError):  # where it hangs, it is found, too, but not by a wrong value
            if what_happens(seed, 0.1, 0.1)[1]:
                return
    pytest.fail("no seed of 20 shows a wrong value")


def test_random_faults_find_a_server_that_hears_others_of_any_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    hears_any_epoch(monkeypatch)
    for seed in range(20):
        try:
            wrong = what_happens(seed, 0.1, 0.1)[1]
        except AssertionError:  # without these checks it is a range that is never whole again, and its workers wait
            return
        if wrong:
            return
    pytest.fail("no seed of 20 hangs or shows a wrong value")
