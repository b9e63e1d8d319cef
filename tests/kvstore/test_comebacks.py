"""Workers that are killed, replaced, paused, or leave, and come back: they are in the round that the others are in."""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Iterator
from math import inf

import pytest
import torch

from dlperf.kvstore import Config, Store, StoreError
from dlperf.kvstore.history import Addition, Read, objections
from dlperf.kvstore.placement import Ring
from dlperf.kvstore.ranges import Range
from tests.kvstore.programs import Program
from tests.kvstore.simulated import World, config
from tests.kvstore.test_simulated import suffer

SEEDS = int(os.environ.get("DLPERF_COMEBACKS", 2))
"""So many random runs of each kind; 250 have been made."""
SERVERS, WORKERS, PLACES = 3, 3, 3000
SECONDS = 40.0
"""So long do things go wrong in a run."""


class Training:
    """Programs that push to two keys on different servers, end rounds, and read; and what must hold when they do."""

    def __init__(self, world: World, seed: int) -> None:
        self.world, self.chance, self.stopped = world, random.Random(seed), False
        ring, names = Ring(SERVERS), [f"k{number}" for number in range(20)]
        self.keys = [next(n for n in names if ring.home(n) == server) for server in (0, 1)]
        self.places: Iterator[int] = iter(range(PLACES))
        self.begun: dict[int, float] = {}
        self.counted: dict[int, float] = {}
        self.reads = defaultdict[str, list[Read]](list)
        self.of_round: dict[tuple[str, int], list[int]] = {}
        self.dropped_until = [-inf] * WORKERS
        self.stores: dict[int, tuple[int, Store, float]] = {}
        self.steps = self.comebacks = 0
        self.programs = [Program(world, worker, self.work) for worker in range(WORKERS)]
        self.watch()

    def watch(self) -> None:
        """Notes who is dropped: rounds go on without this worker, which learns it when it ends the next."""
        for worker in self.world.scheduler.view.dropped:
            self.dropped_until[worker] = self.world.now
        self.world.at(0.005, self.watch)

    def was_dropped(self, worker: int, since: float) -> bool:
        """Returns whether a worker was dropped later than at a moment, to within what `watch` may have missed."""
        return self.dropped_until[worker] > since - 0.005 or worker in self.world.scheduler.view.dropped

    def work(self, program: Program) -> None:
        try:
            self.train(program)
        except StoreError:
            if self.world.who[program.who[1]] == program.who:  # a former process was heard of late, and is taken for it
                self.start(program.who[1])
            raise

    def train(self, program: Program) -> None:
        since = self.world.now
        with program.store() as store:
            self.is_with_the_others(store, since)
            self.comebacks += store.rounds > 0
            for key in self.keys:
                store.create(key, torch.zeros(PLACES, dtype=torch.uint8))
            while not self.stopped:
                program.sleep(self.chance.uniform(0.0, 0.2))
                since = self.step(store, since)
        self.stores.pop(store.worker, None)

    def step(self, store: Store, since: float) -> float:
        """Makes a step, and returns when its round began to end; ``since`` is the moment of the step before."""
        place, rounds = next(self.places), store.rounds
        one = torch.zeros(PLACES, dtype=torch.uint8)
        one[place] = 1
        self.begun[place] = self.world.now
        if self.chance.random() < 0.5:
            store.push(self.keys, [one, one])
        else:
            store.start_push(self.keys, [one, one])
        begin = self.world.now
        store.clock()
        self.counted[place] = self.world.now
        self.steps += 1
        if not self.was_dropped(store.worker, since):
            assert store.rounds == rounds + 1
        self.is_with_the_others(store, begin)
        self.read(store, begin)
        return begin

    def is_with_the_others(self, store: Store, since: float) -> None:
        """Asserts that nobody is further behind or ahead than may be, by the servers' clocks and the stores' own."""
        incarnation = store.view.workers[store.worker]
        if self.stores.get(store.worker, (0,))[0] > incarnation:
            return  # another has taken its place, and this one does not know yet
        self.stores[store.worker] = incarnation, store, since
        may = self.world.config.staleness
        assert may is not None
        for range_ in self.ranges():
            assert range_.clocks[store.worker] >= store.rounds
            assert range_.slowest >= store.rounds - may
        if self.was_dropped(store.worker, since):
            return
        for worker, (_, other, of) in self.stores.items():
            if not self.was_dropped(worker, of):
                assert abs(store.rounds - other.rounds) <= may + 1

    def ranges(self) -> Iterator[Range]:
        """Yields the ranges of heads that know the latest view."""
        view = self.world.scheduler.view
        for number, (head, *_) in enumerate(view.chains):
            node = self.world.nodes[head]
            range_ = node.replicas[number].range
            if range_ is not None and node.view.epoch == view.epoch and ("server", head) not in self.world.down:
                yield range_

    def read(self, store: Store, since: float) -> None:
        begin = self.world.now
        values = store.pull(self.keys)
        for key, value in zip(self.keys, values, strict=True):
            self.reads[key].append(Read(tuple(value.tolist()), begin, self.world.now))
            if self.world.config.staleness == 0 and not self.was_dropped(store.worker, since):
                assert self.of_round.setdefault((key, store.rounds), value.tolist()) == value.tolist()

    # What happens to workers.

    def harm(self) -> None:
        """Has one worker at a time suffer something; it is back before the next does."""
        worker = self.chance.randrange(WORKERS)
        who, long = self.world.who[worker], self.chance.uniform(0.0, 5.0)
        match self.chance.choice(["kill", "replace", "pause", "pause and replace"]):
            case "kill":
                self.world.crash(who)
                self.world.at(long, lambda: self.start(worker))
            case "replace":
                long = 0.0
                self.start(worker)
            case "pause":
                self.world.pause(who)
                self.world.at(long, lambda: self.world.resume(who))
            case _:
                self.world.pause(who)
                self.world.at(long / 2, lambda: self.start(worker))
                self.world.at(long, lambda: self.world.resume(who))
        if not self.stopped:
            self.world.at(long + self.chance.uniform(0.0, 2.0), self.harm)

    def start(self, worker: int) -> None:
        self.programs.append(Program(self.world, worker, self.work))

    def stop(self) -> None:
        self.stopped = True

    def over(self) -> bool:
        return self.stopped and all(program.ended for program in self.programs)

    def mistakes(self) -> list[object]:
        """Returns what went wrong in programs, but that another took the place of one."""
        errors = [program.error for program in self.programs]
        return [error for error in errors if error and not _was_replaced(error)]


def _was_replaced(error: BaseException) -> bool:
    return isinstance(error, StoreError) and ("another process" in str(error) or "been replaced" in str(error))


def trained(told: Config, seed: int, loss: float, servers_too: bool) -> Training:
    """Returns a training through which things went wrong, when all programs have ended."""
    world = World(told, seed, loss)
    training = Training(world, seed)
    world.at(3.0, training.harm)
    if servers_too:
        world.at(5.0, lambda: suffer(world, random.Random(seed), disks=False))
    world.at(SECONDS, training.stop)
    world.run(SECONDS + 100.0, training.over)
    assert training.mistakes() == []
    assert training.over(), "it hangs"
    return training


@pytest.mark.parametrize("on_lost", ["drop", "wait"])
@pytest.mark.parametrize("staleness", [0, 1, 3])
@pytest.mark.parametrize("seed", range(SEEDS))
def test_rounds_go_on_with_who_comes_back(seed: int, staleness: int, on_lost: str) -> None:
    told = config(SERVERS, WORKERS, copies=2, staleness=staleness, on_lost=on_lost, patience=1000.0)
    training = trained(told, seed, 0.05 * (seed % 2), servers_too=seed % 3 > 0)
    assert training.steps > 20
    assert training.comebacks > 2
    if staleness == 0:  # what is pushed counts when its round ends, which `clock` waits for
        additions = [Addition(place, at, training.counted.get(place, inf)) for place, at in training.begun.items()]
        for reads in training.reads.values():
            assert objections(additions, reads) == []
