"""Schedules: what the simulated rule must obey, and that the engine follows it."""

from __future__ import annotations

import gc
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import networkx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dlperf.asynchrony.engine import Engine, Variable
from dlperf.parallel import mlp, schedule
from dlperf.parallel.schedule import Graph, Pool, Task
from tests.processes import DEADLINE_S, wait_until

RULES = schedule.list_schedule, schedule.longest_first

GRAHAM: Graph = {
    number: Task(seconds, after)
    for number, (seconds, after) in enumerate(
        [(3, ()), (2, ()), (2, ()), (2, ()), *4 * [(4, (4,))], (9, (1,))],
        start=1,
    )
}
"""Source: Graham, Bounds on multiprocessing timing anomalies, 1969, figure 1."""


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Any graph of a few tasks, ties and empty tasks included."""
    tasks: Graph = {}
    for number in range(draw(st.integers(1, 12))):
        after = draw(st.sets(st.integers(0, number - 1), max_size=3)) if number else set()
        tasks[number] = Task(draw(st.integers(0, 9)), tuple(after))
    return tasks


def longest_chain(tasks: Graph) -> float:
    """Returns the length of the longest chain, sought from its end."""

    @cache
    def until(number: int) -> float:
        task = tasks[number]
        return task.seconds + max(map(until, task.after), default=0)

    return max(map(until, tasks))


def drawn(tasks: Graph) -> networkx.DiGraph:
    """The same graph for the oracle; an arrow has the seconds of the task that it comes from."""
    result = networkx.DiGraph()
    result.add_nodes_from([*tasks, "end"])
    result.add_weighted_edges_from(
        (other, n, tasks[other].seconds) for n, task in tasks.items() for other in task.after
    )
    result.add_weighted_edges_from((number, "end", task.seconds) for number, task in tasks.items())
    return result


def shuffled(tasks: Graph, seed: int) -> Graph:
    return dict(random.Random(seed).sample(list(tasks.items()), len(tasks)))


@given(graphs(), st.integers(0, 9))
def test_the_critical_path_is_the_longest_chain_in_whatever_order_the_tasks_stand(tasks: Graph, seed: int) -> None:
    tasks = shuffled(tasks, seed)
    assert schedule.critical_path(tasks) == longest_chain(tasks)
    assert schedule.critical_path(tasks) == networkx.dag_longest_path_length(drawn(tasks))


@pytest.mark.parametrize("use", [schedule.critical_path, lambda tasks: schedule.list_schedule(tasks, 2)])
@given(tasks=graphs(), back=st.tuples(st.integers(0, 11), st.integers(0, 11)))
def test_a_circle_is_named(use: Callable, tasks: Graph, back: tuple[int, int]) -> None:
    """Any arrow may be added, also one back; the oracle says whether there is a circle."""
    number, other = (i % len(tasks) for i in back)
    tasks[number] = Task(tasks[number].seconds, (*tasks[number].after, other))
    if networkx.is_directed_acyclic_graph(drawn(tasks)):
        use(tasks)
        return
    with pytest.raises(ValueError, match="tasks that wait for each other: ") as caught:
        use(tasks)
    named = [int(number) for number in str(caught.value).partition(": ")[2].split(" before ")]
    assert named[0] == named[-1]
    assert all(one in tasks[next_one].after for one, next_one in pairwise(named))


@pytest.mark.parametrize("use", [schedule.critical_path, lambda tasks: schedule.list_schedule(tasks, 2)])
def test_a_task_that_is_not_there_is_named(use: Callable) -> None:
    with pytest.raises(ValueError, match="task 1 comes after 7, which is not in the graph"):
        use({0: Task(1), 1: Task(1, (0, 7))})


def test_nothing_takes_no_time() -> None:
    assert (
        schedule.makespan([]) == schedule.makespan(schedule.list_schedule({}, 2)) == schedule.critical_path({}) == 0.0
    )


@pytest.mark.parametrize("rule", RULES)
@given(tasks=graphs(), workers=st.integers(1, 8))
def test_a_schedule_keeps_its_promises(rule: Callable, tasks: Graph, workers: int) -> None:
    turns = {turn.number: turn for turn in rule(tasks, workers)}
    assert turns.keys() == tasks.keys()
    for number, task in tasks.items():
        assert turns[number].end - turns[number].start == task.seconds
        assert all(turns[other].end <= turns[number].start for other in task.after)
    for worker in range(workers):
        own = sorted((turn.start, turn.end) for turn in turns.values() if turn.worker == worker)
        assert all(one[1] <= next_one[0] for one, next_one in pairwise(own))
    span = schedule.makespan(turns.values())
    assert schedule.lower_bound(tasks, workers) <= span <= schedule.upper_bound(tasks, workers) + 1e-9
    assert span <= (2 - 1 / workers) * schedule.lower_bound(tasks, workers) + 1e-9


@pytest.mark.parametrize("rule", RULES)
@given(tasks=graphs(), workers=st.integers(1, 4))
def test_nobody_idles_while_a_task_is_ready(rule: Callable, tasks: Graph, workers: int) -> None:
    turns = {turn.number: turn for turn in rule(tasks, workers)}
    for number, turn in turns.items():
        ready = max((turns[other].end for other in tasks[number].after), default=0)
        for moment in {t.end for t in turns.values()} | {0}:
            if ready <= moment < turn.start:
                assert sum(t.start <= moment < t.end or t.start == t.end for t in turns.values()) >= workers


@given(graphs())
def test_one_worker_takes_the_work_and_many_the_critical_path(tasks: Graph) -> None:
    assert schedule.makespan(schedule.list_schedule(tasks, 1)) == schedule.work(tasks)
    assert schedule.makespan(schedule.list_schedule(tasks, len(tasks))) == schedule.critical_path(tasks)


def test_ready_first_is_first_and_rank_goes_before() -> None:
    tasks = {0: Task(1), 1: Task(1), 2: Task(5, (0,))}
    order = lambda turns: [turn.number for turn in turns]
    assert order(schedule.list_schedule(tasks, 1)) == [0, 1, 2]
    assert order(schedule.longest_first({0: Task(1), 1: Task(2), 2: Task(5, (1,))}, 1)) == [1, 2, 0]


def test_grahams_anomaly_more_workers_take_longer() -> None:
    spans = [schedule.makespan(schedule.list_schedule(GRAHAM, p)) for p in (3, 4)]
    assert spans == [12, 15]
    assert schedule.lower_bound(GRAHAM, 4) == 12


def played(pool: Engine, tasks: Graph, turns: Sequence[schedule.Turn]) -> list[int]:
    """Returns in which order an engine began tasks that end in the order of ``turns``.

    A task ends when it is told to, which is when all that should have begun by then has begun.
    """
    results, ends = ({number: each() for number in tasks} for each in (Variable, threading.Event))
    begun: list[int] = []

    def program() -> None:
        for number, task in tasks.items():
            run = lambda number=number: (begun.append(number), ends[number].wait(DEADLINE_S))
            pool.enqueue(run, [results[other] for other in task.after], [results[number]], name=str(number))

    def director() -> None:
        for turn in sorted(turns, key=lambda turn: turn.end):
            due = {other.number for other in turns if other.start < turn.end}
            wait_until(lambda due=due: due <= set(begun))
            ends[turn.number].set()

    with ThreadPoolExecutor(1) as other_thread:
        directed = other_thread.submit(director)
        schedule.behind_a_gate(pool, program)
        directed.result()
    return begun


def test_the_pool_follows_the_rule() -> None:
    """No two tasks end at the same time, so that one order is right."""
    tasks = {
        **{0: Task(6), 1: Task(4), 2: Task(6), 3: Task(3, (0,))},
        **{4: Task(1, (2,)), 5: Task(5, (2,)), 6: Task(3, (1,)), 7: Task(2, (3,))},
    }
    turns = schedule.list_schedule(tasks, 2)
    assert all(later - earlier >= 1 for earlier, later in pairwise(sorted(turn.end for turn in turns)))
    order = [turn.number for turn in turns]
    assert order == [0, 1, 2, 6, 3, 4, 5, 7]
    with Pool(["cpu:0", "cpu:1"]) as pool:
        found = played(pool, tasks, turns)
    assert set(found[:2]) == set(order[:2])  # the first two begin at once
    assert found[2:] == order[2:]


def test_a_pool_says_who_ran_what_and_everyone_may() -> None:
    with Pool(["cpu:0", "cpu:1", "cpu:2"]) as pool:
        meet = threading.Barrier(3, timeout=DEADLINE_S)
        run = schedule.behind_a_gate(pool, lambda: [pool.enqueue(meet.wait) for _ in range(3)])
        assert {op.device for op in run} == {"cpu:0", "cpu:1", "cpu:2"}


def test_a_pool_ends_its_threads() -> None:
    pool = Pool(["cpu:0", "cpu:1", "cpu:2"])
    x = pool.array(torch.ones(2))
    assert (x + x).asnumpy().tolist() == [2, 2]
    threads = list(pool._threads.values())
    pool.close()
    pool.close()
    assert not any(thread.is_alive() for thread in threads)
    with pytest.raises(RuntimeError, match="closed"):
        pool.enqueue(print)


def test_the_threads_of_a_forgotten_pool_end() -> None:
    pool = Pool(["cpu:0", "cpu:1"])
    pool.enqueue(time.perf_counter)
    pool.waitall()
    threads = list(pool._threads.values())
    del pool
    gc.collect()
    for thread in threads:
        thread.join(DEADLINE_S)
        assert not thread.is_alive()


def test_a_pool_passes_on_failures_and_cancels() -> None:
    pool = Pool(["cpu:0", "cpu:1"])
    x, y = pool.array(torch.ones(2)), pool.array(torch.ones(3))
    z = (x + y) * 2
    with pytest.raises(RuntimeError, match="size"):
        z.asnumpy()
    gate = threading.Event()
    for _ in pool.devices:
        pool.enqueue(gate.wait)
    late = x + x
    pool.cancel()
    gate.set()
    with pytest.raises(CancelledError):
        late.asnumpy()
    pool.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_pool_starts_anew_in_a_forked_process() -> None:
    with Pool(["cpu:0", "cpu:1"]) as pool:
        assert (pool.array(torch.ones(2)) + 1).sum().item() == 4
        child = os.fork()
        if not child:
            signal.alarm(int(DEADLINE_S))  # rather than hang
            works = False
            try:
                run = schedule.behind_a_gate(pool, lambda: [pool.enqueue(time.perf_counter) for _ in range(4)])
                works = len(run) == 4
                pool.close()
            finally:
                os._exit(0 if works else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_nothing_begins_behind_the_gate() -> None:
    with Pool(["cpu:0", "cpu:1"]) as pool:
        run = schedule.behind_a_gate(pool, lambda: [pool.call(torch.ones, 2) for _ in range(20)])
    assert len(run) == 20
    assert max(op.enqueued for op in run) <= min(op.start for op in run)


def test_behind_the_gate_a_full_history_is_no_empty_one() -> None:
    with Pool(["cpu:0", "cpu:1"], history=10) as pool:
        for _ in range(3):
            run = schedule.behind_a_gate(pool, lambda: [pool.enqueue(time.perf_counter, name="one") for _ in range(10)])
            assert [op.name for op in run] == ["one"] * 10
        with pytest.raises(ValueError, match="enqueued more operations than the 10 that"):
            schedule.behind_a_gate(pool, lambda: [pool.enqueue(time.perf_counter) for _ in range(20)])


def test_a_program_that_fails_behind_the_gate_opens_it() -> None:
    def program() -> None:
        raise LookupError

    with Pool(["cpu:0", "cpu:1"]) as pool:
        with pytest.raises(LookupError):
            schedule.behind_a_gate(pool, program)
        assert (pool.array(torch.ones(2)) + 1).sum().item() == 4


def test_the_graph_of_a_record() -> None:
    with Engine(["cpu"]) as engine:
        program = lambda: (engine.call(torch.ones, 2) + engine.call(torch.ones, 2)) * 2
        runs = [schedule.behind_a_gate(engine, program) for _ in range(3)]
    tasks = schedule.graph(*runs)
    assert [task.after for task in tasks.values()] == [(), (), (0, 1), (2,)]
    assert tasks[3].seconds == sorted(run[3].end - run[3].start for run in runs)[1]


@pytest.mark.parametrize("kind", [Engine, Pool])
@pytest.mark.parametrize("parts", [1, 2, 4])
def test_the_step_is_what_autograd_computes(kind: type[Engine], parts: int) -> None:
    w1, w2, batch = mlp.problem(32, 12, 9, 5)
    with kind(["cpu:0", *(f"cpu:{i}" for i in range(1, 3))]) as engine:
        arrays = [engine.array(tensor.clone()) for tensor in (w1, w2, batch)]
        devices = [engine.devices[1 + i % 2] for i in range(parts)]
        for _ in range(3):
            mlp.train_step(engine, *arrays, devices, inputs=12, rate=0.01)
        found = [torch.from_numpy(array.asnumpy()) for array in arrays[:2]]
    for w in (w1, w2):
        w.requires_grad_()
    x, y = batch[:, :12], batch[:, 12:]
    descent = torch.optim.SGD([w1, w2], lr=0.01)
    for _ in range(3):
        descent.zero_grad()
        (((x @ w1).relu() @ w2 - y).square().sum() / 2).backward()
        descent.step()
    for ours, theirs in zip(found, (w1, w2), strict=True):
        torch.testing.assert_close(ours, theirs.detach())
