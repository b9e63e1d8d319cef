"""The experiments on the batch, on made-up steps and losses: whatever training did, the result can be recorded."""

import math
from math import inf
from statistics import median

import pytest
import torch

from dlperf.measurement import Measurement
from dlperf.multigpu import batch_size, batch_trials
from dlperf.multigpu.batch_size import GUESS, Data
from dlperf.records import bundle

SOME = Data(torch.zeros(50, 3), torch.zeros(50, dtype=torch.int64), torch.zeros(1, 3), torch.zeros(1))


def recordable(found):
    for key, value in found.items():
        assert bundle(f"multigpu.{key}", value)
        assert math.isfinite(value.median if isinstance(value, Measurement) else value)


@pytest.fixture
def made_up(monkeypatch):
    """Returns a function that gives the training functions of `batch_size` other answers."""

    def answer(**answers):
        for name, value in answers.items():
            monkeypatch.setattr(batch_size, name, value)

    return answer


def test_the_fit_finds_the_curve_it_was_given():
    batches = (4, 16, 64, 256)
    least, critical = batch_trials.fit(batches, [30 * (1 + 50 / b) for b in batches])
    assert least == pytest.approx(30)
    assert critical == pytest.approx(50)


@pytest.mark.parametrize("steps", [[7, 7, 7], [1, 2, 3], [1, 1, 1], [9, 1, 9], [1e6, 1, 1]])
def test_the_fit_of_any_steps_is_finite_and_no_less_than_a_step(steps):
    least, critical = batch_trials.fit((4, 16, 64), steps)
    assert 1 <= least < inf
    assert 0 <= critical < inf


def test_the_best_rate_brought_most_seeds_there_and_those_soonest():
    assert batch_trials.best({0.1: [9.0, 9.0], 0.2: [3.0, inf], 0.3: [5.0, 4.0]}) == (0.3, [5.0, 4.0])
    assert batch_trials.best({0.1: [inf, inf], 0.2: [3.0, inf]}) == (0.2, [3.0, inf])
    assert batch_trials.best({0.1: [inf, inf]}) == (0.1, [inf, inf])


def test_the_critical_batch_is_that_of_the_steps(made_up):
    steps = lambda target, data, batch, rates, seeds, number: {
        rates[0]: [inf] * 3,
        rates[1]: [40 * (1 + 80 / batch)] * 3,
    }
    made_up(steps_to=steps, squared_norms=lambda *args, **options: (2 / 16 + 1, 2 / 128 + 1))  # noise 2, signal 1
    found = batch_trials.critical_batch(SOME, (8, 32, 128), (0.1, 0.2), number=10_000)
    assert found["batch-critical"] == pytest.approx(80)
    assert found["batch-least"] == pytest.approx(40)
    assert found["batch-noise"] == pytest.approx(2)
    assert found["batch-noise-ratio"] == pytest.approx(2 / 80)
    assert found["batch-saved"] == pytest.approx((1 + 10) / (1 + 80 / 128))
    assert found["batch-rate-32"] == 0.2
    assert found["batch-reached"] == 1
    recordable(found)


@pytest.mark.parametrize("norms", [(1.0, 1.0), (8.0, 0.5), (0.0, 0.0), (math.nan, math.nan), (0.5, 0.6)])
def test_what_is_never_reached_is_recorded_as_the_most_steps(made_up, norms):
    made_up(
        steps_to=lambda target, data, batch, rates, seeds, number: {rate: [inf, 12.0, inf] for rate in rates},
        squared_norms=lambda *args, **options: norms,
    )
    found = batch_trials.critical_batch(SOME, (8, 32), (0.1, 0.2), number=70)
    assert found["batch-steps-8"].samples == (70, 12, 70)
    assert found["batch-reached"] == 0
    assert 0 <= found["batch-noise"] <= 50
    recordable(found)


def test_a_schedule_breaks_at_its_first_batch_with_half_the_perplexity_more(made_up):
    def train(data, batch, schedules, seeds, n):
        assert schedules[1][0] == pytest.approx(0.8 * batch / 16)
        assert schedules[3] == (pytest.approx(2 * schedules[1][0]), 0)
        return [[2.0, 2.0, 2.1], [2.0 + 0.5 * (batch > 32), 2.0, 2.9], [2.0 + (batch > 16)] * 3, [2.25] * 3]

    made_up(train=train)
    found = batch_trials.rate_rules(SOME, 0.8, devices=(1, 2, 4))
    assert found["rate-scaled-32"].median == 2
    assert found["rate-scaled-lost-64"] == pytest.approx(median([2.5, 2.0, 2.9]) - 2)
    assert found["rate-twice-lost-16"] == pytest.approx(0.25)
    breaks = [found[f"rate-{schedule}-breaks"] for schedule in batch_trials.SCHEDULES]
    assert breaks == [128, 64, 32, 128]
    recordable(found)


def test_both_experiments_run_on_the_books_own_text():
    data = batch_size.characters()
    found = batch_trials.critical_batch(data, (64, 128), (0.8, 1.6), target=4.0, runs=2, number=60)
    assert found["batch-reached"] == 1
    found |= batch_trials.rate_rules(data, 0.8, devices=(1, 16), runs=2, n=500)
    assert 0 < found["rate-kept-16"].median < GUESS
    recordable(found)
