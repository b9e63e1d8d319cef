"""BSP, SSP and ASP with real workers and servers: the same sums, the bound, and what a straggler costs."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dlperf.servers import sparse_data
from dlperf.servers.consistency import Trials
from dlperf.servers.tasks import Sparse, clicks

TASK = Sparse(rate=5.0, batch=16)


@pytest.fixture(scope="module")
def trials():
    with Trials(2, [0, 1, None]) as trials:
        yield trials


@pytest.fixture(scope="module")
def runs(trials):
    return {s: trials.run(TASK, s, slow=8, duration=5.0, step=0.04) for s in (0, 1, None)}


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


def test_asp_has_no_bound(runs):
    assert max(runs[None].behind) > 1


def test_a_straggler_holds_up_who_waits_and_nobody_else(runs):
    ahead = {staleness: len(run.traces[0].ends) - len(run.traces[1].ends) for staleness, run in runs.items()}
    assert ahead[0] <= 1
    assert ahead[1] <= 2
    assert ahead[None] > 2


def test_steps_last_as_long_as_they_are_told_to(runs):
    for run in runs.values():
        assert min(np.diff(run.traces[0].ends)) >= 0.04
        assert run.traces[0].computed > 0


def test_stores_can_be_used_again_and_begin_afresh(trials, runs):
    again = trials.run(TASK, 1, slow=1, duration=3.0, step=0.01)
    assert again.traces[0].read[0][0] == 0
    assert again.curve[0][1] == pytest.approx(np.log(2))
    assert max(again.behind) <= 1


def test_a_staleness_without_a_store_is_refused(trials):
    with pytest.raises(ValueError, match=r"of staleness \[0, 1, None\], got 7"):
        trials.run(TASK, 7, slow=1)
