"""Workers that wait for one another, a little, or not at all (BSP, SSP, ASP), with a straggler among them.

Steps last as long as told, mostly asleep: see `computing`. The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from statistics import fmean
from time import perf_counter, sleep
from typing import Self

import numpy as np
import torch
from torch import Tensor

from dlperf.environment import cores, environment
from dlperf.kvstore import Config, Store, connect, local
from dlperf.measurement import Measurement
from dlperf.servers.staleness import Clocks, behind, delay
from dlperf.servers.tasks import Task
from dlperf.workers import Workers

START_DELAY_S = 0.05
"""So many seconds before they are to begin, workers are told."""


@dataclass
class Trace:
    """What a worker did: clocks of what it ``read`` in each step, and after it ``pushed``; when the step had ended.

    ``ends`` are in seconds from the beginning, ``computed`` those in which it really computed. Worker 0 also takes a
    snapshot of all weights now and then; ``curve`` has the seconds of each and its test loss in nats, found after the
    run, where it was taken: to send weights takes longer.
    """

    read: list[Clocks] = field(default_factory=list)
    pushed: list[Clocks] = field(default_factory=list)
    ends: list[float] = field(default_factory=list)
    curve: list[tuple[float, float]] = field(default_factory=list)
    computed: float = 0.0


@dataclass(frozen=True)
class Run:
    """A training: who may be how far ahead, how slow the last worker was, and what each did."""

    staleness: int | None
    slow: float
    traces: list[Trace]

    @property
    def curve(self) -> list[tuple[float, float]]:
        """The test loss against time; see `Trace`."""
        return self.traces[0].curve

    @property
    def rate(self) -> float:
        """The steps per second of all workers together, of each until the end of its last one."""
        return sum(len(trace.ends) / trace.ends[-1] for trace in self.traces if trace.ends)

    @property
    def step(self) -> Measurement:
        """The seconds of the steps of worker 0, which is not the straggler, with what it waited for others."""
        samples = tuple(np.diff([0.0, *self.traces[0].ends]).tolist())
        what = f"a step with staleness {self.staleness} and a straggler {self.slow:g} times as slow"
        return Measurement(samples, "s", what, 1, environment("cpu"))

    @property
    def duration(self) -> float:
        """The seconds of the training, to the end of its last step."""
        return max(trace.ends[-1] for trace in self.traces if trace.ends)

    @property
    def rates(self) -> list[float]:
        """The steps per second of each worker."""
        return [len(trace.ends) / self.duration for trace in self.traces]

    @property
    def last(self) -> float:
        """The test loss of the last snapshot, in nats."""
        return self.curve[-1][1]

    def reaches(self, loss: float) -> float:
        """Returns the seconds after which the test loss is so low; those of the last snapshot if it never is."""
        return next((when for when, each in self.curve if each <= loss), self.curve[-1][0])

    def has_reached(self, loss: float) -> bool:
        """Returns whether the test loss ever is so low."""
        return any(each <= loss for _, each in self.curve)

    @property
    def behind(self) -> list[int]:
        """How far the slowest was behind in each read of workers that are not the straggler; see `staleness.behind`."""
        return [behind(worker, read) for worker, trace in enumerate(self.traces[:-1]) for read in trace.read]

    @property
    def delays(self) -> list[list[int]]:
        """How many pushes of others each push of each worker did not know of; see `staleness.delay`."""
        return [
            [delay(worker, *each) for each in zip(trace.read, trace.pushed, strict=True)]
            for worker, trace in enumerate(self.traces)
        ]

    @property
    def stale(self) -> float:
        """How many pushes of others a push did not know of, on average over all pushes; see `delays`."""
        return fmean(each for worker in self.delays for each in worker)


def rates(
    staleness: int | None, step: float, slow: float, duration: float, workers: int = 4, messages: float = 0.0
) -> list[float]:
    """Returns the steps per second that each worker should take; the last one computes ``slow`` times as long.

    A step computes ``step`` seconds and spends ``messages`` on pushes and pulls. Within a bound the others get so many
    steps ahead of the last one, once.
    """
    slowest, fast = 1 / (step * slow + messages), 1 / (step + messages)
    others = fast if staleness is None else min(fast, slowest + staleness / duration)
    return [others] * (workers - 1) + [slowest]


def train(
    store: Store,
    task: Task,
    key: str,
    draw: np.random.Generator,
    rounds: Iterable[int],
    seconds: float,
    until: float,
    trace: Trace,
) -> None:
    """Makes a step in each round, in which a worker computes so long; ``until`` is when nobody sleeps any longer."""
    mine = torch.zeros(store.config.workers, dtype=torch.int64)
    mine[store.worker] = 1
    for _ in rounds:
        batch = task.draw(draw)
        clocks = store.start_pull(f"clocks {key}")
        weights = task.pull(store, key, batch)
        with computing(seconds, until, trace):
            gradient = task.gradient(batch, weights)
        task.push(store, key, batch, gradient)
        store.push(f"clocks {key}", mine)
        trace.read.append(clocks.wait().tolist())
        trace.pushed.append(store.pull(f"clocks {key}").tolist())
        store.clock()


@contextmanager
def computing(seconds: float, until: float, trace: Trace) -> Iterator[None]:
    """Has a block take so many seconds: what it really computes is part of them, the rest is slept, ``until`` the end.

    A block that computes longer, as where others have the cores, takes as long as it takes.
    """
    start = perf_counter()
    yield
    trace.computed += perf_counter() - start
    sleep(max(0.0, min(start + seconds, until) - perf_counter()))


def timed(begin: float, duration: float, trace: Trace) -> Iterator[int]:
    """Yields rounds for so many seconds, and notes when each has ended; of those that end too late only the first."""
    round, end = 0, begin + duration
    while perf_counter() < end or not trace.ends:
        yield round
        round += 1
        if (now := perf_counter()) < end or not trace.ends:
            trace.ends.append(now - begin)


def watched(
    store: Store, task: Task, key: str, begin: float, rounds: Iterable[int], snapshots: list[tuple[float, Tensor]]
) -> Iterator[int]:
    """Yields rounds, and before one, now and then, takes a snapshot of all weights, with its seconds."""
    due = 0.0
    for round in rounds:
        if perf_counter() - begin >= due:
            snapshots.append((perf_counter() - begin, task.snapshot(store, key)))
            due += task.watched
        yield round


_stores: dict[str, Store] = {}
"""In a worker's process: its end of the cluster of a training that is about to begin."""


def join(rank: int, config: Config, task: Task, key: str) -> None:
    """Connects a worker, and has it create what a training needs. Those before have left: all begin in one round."""
    store = _stores[key] = connect(config, rank)
    task.create(store, key)
    store.create(f"clocks {key}", torch.zeros(config.workers, dtype=torch.int64))
    batch = task.draw(np.random.default_rng())
    task.gradient(batch, task.pull(store, key, batch))  # the first takes long


def work(rank: int, task: Task, key: str, begin: float, duration: float, each: Sequence[float]) -> Trace:
    """Returns the trace of a worker that trains for so many seconds; a step computes ``each[rank]``.

    Then it leaves the store, so that those who still wait for it go on.
    """
    trace, draw = Trace(), np.random.default_rng(rank)
    snapshots: list[tuple[float, Tensor]] = []
    with _stores.pop(key) as store:
        sleep(max(0.0, begin - perf_counter()))
        rounds = timed(begin, duration, trace)
        if rank == 0:
            rounds = watched(store, task, key, begin, rounds, snapshots)
        train(store, task, key, draw, rounds, each[rank], begin + duration, trace)
    torch.set_num_threads(cores())  # nobody else computes any longer
    trace.curve = [(when, task.loss(weights)) for when, weights in snapshots]
    torch.set_num_threads(1)
    return trace


class Trials(AbstractContextManager):
    """So many workers, and a store with one server for each staleness; a context manager. One run goes on at a time."""

    def __init__(self, workers: int, stalenesses: Sequence[int | None]) -> None:
        self.workers = workers
        self._configs = {each: local.config(1, workers, staleness=each) for each in stalenesses}
        self._runs = 0

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._crew = stack.enter_context(Workers(self.workers))
            for config in self._configs.values():
                stack.enter_context(local.Cluster(config))
            self._open = stack.pop_all()
        return self

    def run(self, task: Task, staleness: int | None, slow: float, duration: float = 1.5, step: float = 0.02) -> Run:
        """Returns so many seconds of training, in which a step computes ``step`` seconds, the last worker's ``slow``
        times as long. Raises ValueError if these trials were not made for that ``staleness``."""
        if staleness not in self._configs:
            raise ValueError(f"these trials are of staleness {list(self._configs)}, got {staleness}")
        key, each = f"run {self._runs}", [step] * (self.workers - 1) + [step * slow]
        self._runs += 1
        self._crew.run(join, self._configs[staleness], task, key, timeout=60)
        begin = perf_counter() + START_DELAY_S
        traces = self._crew.run(work, task, key, begin, duration, each, timeout=60 + duration)
        return Run(staleness, slow, traces)

    def __exit__(self, *error: object) -> None:
        self._open.__exit__(*error)  # type: ignore[arg-type]
