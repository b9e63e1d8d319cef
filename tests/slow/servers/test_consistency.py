"""BSP, SSP and ASP with real workers and servers: the same sums, the bound, and what a straggler costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from dlperf.kvstore import connect, local
from dlperf.servers import sparse_data
from dlperf.servers.consistency import Run, Trace, Trials, train
from dlperf.servers.staleness import behind
from dlperf.servers.tasks import Sparse, clicks
from tests.processes import wait_until

TASK = Sparse(rate=5.0, batch=16)
STEPS = 6


@pytest.fixture(scope="module")
def trials():
    with Trials(2, [0, 1, None]) as trials:
        yield trials


@pytest.fixture(scope="module")
def runs(trials):
    return {s: run_until_seen(trials, s) for s in (0, 1, None)}


def run_until_seen(trials: Trials, staleness: int | None) -> Run:
    """Returns a run of two steps at least, in which weights were looked at twice, however slow this machine is."""
    for duration in (5.0, 20.0, 60.0):
        run = trials.run(TASK, staleness, slow=8, duration=duration, step=0.04)
        if len(run.curve) > 1 and len(run.traces[0].ends) > 1:
            break
    return run


def test_bsp_takes_the_steps_of_one_process_with_the_whole_batch(runs):
    run, data = runs[0], clicks(TASK.seed)
    draws = [np.random.default_rng(worker) for worker in range(2)]
    weights, right = torch.zeros(data.features, dtype=torch.float64), []
    for _ in range(len(run.traces[0].read)):
        right.append(sparse_data.test_loss(data, weights))
        chosen = np.concatenate([draw.integers(len(data.train.labels), size=TASK.batch) for draw in draws])
        batch = sparse_data.batch(data.train, chosen)
        weights[batch.features] -= TASK.rate * sparse_data.gradient(batch, weights[batch.features])
    taken = [int(np.searchsorted(run.traces[0].ends, when)) for when, _ in run.curve]
    assert len(taken) > 1
    np.testing.assert_allclose([loss for _, loss in run.curve], [right[n] for n in taken], rtol=1e-12)


def test_bsp_and_ssp_keep_their_bounds(runs):
    assert set(runs[0].behind) == {0}
    assert {each for delays in runs[0].delays for each in delays} == {0}
    assert max(runs[1].behind) <= 1


def longer(steps: Sized, number: int) -> Callable[[], bool]:
    """Returns what says whether there are so many steps."""
    return lambda: len(steps) >= number


@pytest.mark.parametrize("staleness", [0, 1, None])
def test_a_straggler_holds_up_who_waits_and_nobody_else(staleness: int | None) -> None:
    """It begins a step when the other has read weights for all that it may before that; without a bound, for all."""
    traces = [Trace(), Trace()]
    ahead = STEPS if staleness is None else staleness + 1

    def rounds(worker: int) -> Iterator[int]:
        for step in range(STEPS):
            if worker == 1:
                assert wait_until(longer(traces[0].read, min(STEPS, step + ahead)))
            yield step

    def work(worker: int) -> None:
        with connect(config, worker) as store:
            TASK.create(store, "straggler")
            store.create("clocks straggler", torch.zeros(2, dtype=torch.int64))
            draw = np.random.default_rng(worker)
            train(store, TASK, "straggler", draw, rounds(worker), 0.0, 0.0, traces[worker])

    config = local.config(1, 2, staleness=staleness)
    with local.Cluster(config), ThreadPoolExecutor(2) as pool:
        list(pool.map(work, range(2)))
    assert [len(trace.read) for trace in traces] == [STEPS, STEPS]
    most = max(behind(0, read) for read in traces[0].read)
    assert most == (STEPS - 1 if staleness is None else staleness)


def test_steps_last_as_long_as_they_are_told_to(runs):
    for run in runs.values():
        assert min(np.diff(run.traces[0].ends)) >= 0.04
        assert run.traces[0].computed > 0


def test_stores_can_be_used_again_and_begin_afresh(trials, runs):
    again = trials.run(TASK, 0, slow=1, duration=3.0, step=0.01)  # nothing is seen before the first round ends
    assert again.traces[0].read[0][0] == 0
    assert again.curve[0][1] == pytest.approx(np.log(2))
    assert max(again.behind) == 0


def test_a_staleness_without_a_store_is_refused(trials):
    with pytest.raises(ValueError, match=r"of staleness \[0, 1, None\], got 7"):
        trials.run(TASK, 7, slow=1)
