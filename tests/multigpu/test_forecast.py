"""Predictions of a step on k devices: against lines and links that are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch

from dlperf.hardware.alpha_beta import Line
from dlperf.models import gpt, resnet
from dlperf.multigpu import forecast, scaling
from dlperf.multigpu.scaling import Task


def test_a_step_is_its_share_and_one_message() -> None:
    compute, link = Line(0.1, 0.01), Line(1e-3, 1e-6)
    assert forecast.predict(compute, link, 4000, 8, 2) == pytest.approx(0.1 + 0.04 + 1e-3 + 4e-3)
    assert forecast.predict(compute, link, 4000, 8, 1) == pytest.approx(0.18)


def test_efficiency() -> None:
    assert forecast.efficiency(1.0, 0.5, 2) == 1
    assert forecast.efficiency(1.0, 1.0, 4) == 0.25


@pytest.mark.parametrize(
    ("compute", "exchange", "fixed", "least"),
    [(1.0, 0.01, 0.0, 0.8), (1.0, 0.05, 0.1, 0.5), (3.0, 0.04, 0.02, 0.9), (0.3, 0.05, 0.0, 0.5)],
)
def test_the_largest_number_is_the_last_that_is_efficient_enough(
    compute: float, exchange: float, fixed: float, least: float
) -> None:
    most = forecast.largest(compute, exchange, fixed, least)

    def used(k: int) -> float:
        step = fixed + (compute - fixed) / k + exchange * 2 * (k - 1) / k
        return forecast.efficiency(compute, step, k)

    assert used(most) >= least - 1e-9
    assert used(most + 1) < least - 1e-9


def test_where_nothing_is_gained_one_device_is_left() -> None:
    assert forecast.largest(0.01, 1.0, 0.0) == 1


def test_the_slowest_process_counts() -> None:
    assert forecast.longest(lambda fn, *args: [0.0, 3.0, 1.0], max) == 3.0


class Known:
    """Stands for a group: answers with seconds by known lines."""

    def __init__(self, compute: Line, link: Line) -> None:
        self.compute, self.link = compute, link

    def run(self, fn: Callable[..., Any], *args: Any) -> list[float]:
        if fn is scaling.exchange:
            weighs, k, _ = args
            return [sum(map(self.link, weighs)), 0.0]
        task, k = args
        taken = self.compute(task.batch / k)
        return [taken + (self.link(sum(task.weighs())) if fn is scaling.together and k > 1 else 0.0), 0.0]


KNOWN = Known(Line(0.02, 0.003), Line(2e-4, 9e-9))


@pytest.mark.parametrize("batches", [(1, 4, 16), (2, 8)])
def test_a_profile_is_found_again(batches: Sequence[int]) -> None:
    found = forecast.profile(KNOWN.run, "GPT", batches, k=2, repeats=2)
    assert (found.alpha, found.beta) == pytest.approx((0.02, 0.003))


def test_a_link_is_found_again() -> None:
    found = forecast.link(KNOWN.run, 2, repeats=2)
    assert (found.alpha, found.beta) == pytest.approx((2e-4, 9e-9))


def test_predicted_steps_are_those_that_are_measured_where_nothing_else_matters() -> None:
    compute = forecast.profile(KNOWN.run, "LeNet", (8, 64), k=2, repeats=2)
    link = forecast.link(KNOWN.run, 2, repeats=2)
    task = Task("LeNet", 32)
    measured = forecast.stepped(KNOWN.run, [task], (1, 2), repeats=2)
    for k in (1, 2):
        assert forecast.predict(compute, link, sum(task.weighs()), 32, k) == pytest.approx(measured[task, k][0])


@pytest.mark.parametrize(
    ("task", "bytes_of"),
    [
        (Task("ResNet-18", 4), lambda: sum(p.nbytes for p in resnet.ResNet18().parameters())),
        (Task("LeNet", 4), lambda: 4 * (20 * 9 + 20 + 50 * 20 * 25 + 50 + 800 * 128 + 128 + 1280 + 10)),
    ],
)
def test_messages_weigh_what_the_parameters_do(task: Task, bytes_of: Callable[[], int]) -> None:
    assert sum(task.weighs()) == bytes_of()


def test_a_gpt_of_another_size_is_another_network() -> None:
    size = gpt.Size(vocabulary=11, context=8, layers=1, heads=2, width=4)
    task = Task("GPT", 2, size)
    assert sum(task.weighs()) == sum(p.nbytes for p in gpt.GPT(size).parameters())
    assert task.step("cpu").inputs.shape == torch.Size([2, 8])
