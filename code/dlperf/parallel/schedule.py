"""Graphs of operations and their schedules: bounds, the engine's rule simulated, and the engine for alike workers.

The chapter *Automatic parallelism* tells the story.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from graphlib import CycleError, TopologicalSorter
from heapq import heapify, heappop, heappush
from itertools import count
from queue import SimpleQueue
from statistics import median
from typing import Any, NamedTuple

import torch

from dlperf.asynchrony.engine import Engine, Operation
from dlperf.asynchrony.engine.operations import FRONT_END
from dlperf.environment import pinnable_cores


class Task(NamedTuple):
    """What takes so many ``seconds`` and comes ``after`` others, given by number."""

    seconds: float
    after: tuple[int, ...] = ()


Graph = dict[int, Task]
"""Tasks by number, in any order."""


class Turn(NamedTuple):
    """A task's place in a schedule: who runs it, and when, in seconds."""

    number: int
    worker: int
    start: float
    end: float


def graph(*runs: Sequence[Operation]) -> Graph:
    """Returns the graph of a program that was run once or several times; a task takes the median of its times."""
    if not runs:
        raise ValueError("a graph is made of one run or several, got none")
    first = runs[0]
    place = {op.number: i for i, op in enumerate(first)}
    seconds = [median(op.end - op.start for op in same) for same in zip(*runs, strict=True)]
    return {
        i: Task(seconds[i], tuple(place[number] for number in op.after if number in place))
        for i, op in enumerate(first)
    }


def work(tasks: Graph) -> float:
    """Returns the seconds of all tasks together: the time of one worker."""
    return sum(task.seconds for task in tasks.values())


def in_order(tasks: Graph) -> list[int]:
    """Returns the tasks, each behind those that it follows.

    Raises ValueError if tasks wait for each other, or for one that is not in the graph.
    """
    for number, task in tasks.items():
        if strangers := set(task.after) - tasks.keys():
            raise ValueError(f"task {number} comes after {min(strangers)}, which is not in the graph")
    try:
        return list(TopologicalSorter({number: task.after for number, task in tasks.items()}).static_order())
    except CycleError as error:
        raise ValueError(f"tasks that wait for each other: {' before '.join(map(str, error.args[1]))}") from None


def to_the_end(tasks: Graph) -> dict[int, float]:
    """Returns the seconds of the longest path that begins with each task."""
    longest = dict.fromkeys(tasks, 0.0)
    for number in reversed(in_order(tasks)):
        longest[number] += tasks[number].seconds  # until here, the longest path of its followers
        for other in tasks[number].after:
            longest[other] = max(longest[other], longest[number])
    return longest


def critical_path(tasks: Graph) -> float:
    """Returns the seconds of the longest path: the time of any number of workers."""
    return max(to_the_end(tasks).values(), default=0.0)


def _some(workers: int) -> int:
    """Returns how many workers there are. Raises ValueError if there are none."""
    if workers < 1:
        raise ValueError(f"a schedule has at least one worker, got {workers}")
    return workers


def lower_bound(tasks: Graph, workers: int) -> float:
    """Returns seconds that no schedule for so many workers can beat. Raises ValueError if there are none."""
    return max(work(tasks) / _some(workers), critical_path(tasks))


def upper_bound(tasks: Graph, workers: int) -> float:
    """Returns seconds that no list schedule for so many workers exceeds. Raises ValueError if there are none.

    It is at most ``2 - 1 / workers`` times `lower_bound`. Source: Graham, Bounds on multiprocessing timing
    anomalies, 1969.
    """
    return work(tasks) / _some(workers) + (1 - 1 / workers) * critical_path(tasks)


def edges(tasks: Graph) -> tuple[dict[int, int], dict[int, list[int]]]:
    """Returns how many others each task comes after, and which tasks come after it."""
    followers: dict[int, list[int]] = {number: [] for number in in_order(tasks)}
    for number, task in tasks.items():
        for other in task.after:
            followers[other].append(number)
    return {number: len(task.after) for number, task in tasks.items()}, followers


Rank = Callable[[int], float]


def list_schedule(
    tasks: Graph,
    workers: int,
    rank: Rank = lambda number: 0,
) -> list[Turn]:
    """Returns the turns if a free worker takes a ready task at once.

    The least ``rank`` goes first; among equals, what has been ready
    longest: without ranks, the rule of the engine. Raises
    ValueError if there are no workers.
    """
    missing, followers = edges(tasks)
    order = count()
    ready = [(rank(i), next(order), i) for i in tasks if not missing[i]]
    heapify(ready)
    running, turns = list[tuple[float, int, int]](), list[Turn]()
    free, now = list(range(_some(workers))), 0.0
    while ready or running:
        while ready and free:
            i, worker = heappop(ready)[-1], heappop(free)
            turns.append(Turn(i, worker, now, now + tasks[i].seconds))
            heappush(running, (turns[-1].end, i, worker))
        now, i, worker = heappop(running)
        heappush(free, worker)
        for follower in followers[i]:
            missing[follower] -= 1
            if not missing[follower]:
                entry = rank(follower), next(order), follower
                heappush(ready, entry)
    return turns


def longest_first(tasks: Graph, workers: int) -> list[Turn]:
    """Returns the list schedule that prefers the task from which the longest path begins."""
    longest = to_the_end(tasks)
    return list_schedule(tasks, workers, lambda number: -longest[number])


def makespan(turns: Iterable[Turn | Operation]) -> float:
    """Returns the seconds from the first start to the last end, of a schedule or of a record; of none, 0."""
    spans = [(turn.start, turn.end) for turn in turns]
    return max((end for _, end in spans), default=0.0) - min((start for start, _ in spans), default=0.0)


class Pool(Engine):
    """An engine whose devices are alike: who is free takes what is ready.

    The record says who ran it.
    """

    def _reset(self) -> None:
        super()._reset()
        self._queues = dict.fromkeys(self.devices, _Shared())

    def _run(self, op: Operation, stream: Any) -> None:
        op.device = threading.current_thread().name
        super()._run(op, stream)


class _Shared(SimpleQueue):
    """A queue for several threads: what ends one ends them all."""

    def get(self, *args: Any, **options: Any) -> Any:
        item = super().get(*args, **options)
        if item is None:
            self.put(None)
        return item


def one_core_each(pool: Pool) -> None:
    """Gives each thread of the pool one thread for its operators, and a core of its own where there are enough."""
    free, size = pinnable_cores(), len(pool.devices)
    all_here = threading.Barrier(size)  # or one thread might take two of these

    def settle(cores: list[int]) -> None:
        all_here.wait()
        torch.set_num_threads(1)
        if cores:
            os.sched_setaffinity(0, cores)

    for i in range(size):
        pool.enqueue(partial(settle, free[i : i + 1] if size <= len(free) else []), name="settle")
    pool.waitall()


def behind_a_gate(pool: Engine, program: Callable[[], Any]) -> list[Operation]:
    """Returns the operations that ``program`` enqueues; none began before the last was enqueued, and all are done."""
    gate = threading.Event()
    gates = [pool.enqueue(gate.wait, device=device) for device in pool.devices]
    try:
        program()
        run = [op for op in pool.history if op.number > gates[-1].number]
    finally:  # or the pool would wait for ever
        gate.set()
    pool.waitall()
    if run and run[0].number > gates[-1].number + 1:
        raise ValueError(f"the program enqueued more operations than the {pool.history.maxlen} that the history holds")
    return [op for op in run if op.device != FRONT_END]
