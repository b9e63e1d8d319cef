"""The comparison itself: errors of zero and one, one device that is its own truth, and the table of bugs."""

from __future__ import annotations

import pytest
import torch

from dlperf.multigpu import drawings
from dlperf.multigpu.correctness import RECIPES, examples, network, relative_error, train

CPU = torch.device("cpu")


def test_an_error_is_a_length_over_a_length() -> None:
    truth = [torch.tensor([3.0]), torch.tensor([4.0])]
    assert relative_error(truth, truth) == 0
    assert relative_error([torch.tensor([3.0]), torch.tensor([9.0])], truth) == 1


@pytest.mark.parametrize("recipe", ["right", "means"])
def test_a_device_that_is_alone_is_right_either_way(recipe: str) -> None:
    batch = examples(6, torch.float64, CPU)
    gradients = []
    for name in ("right", recipe):
        model = network(torch.float64, CPU)
        gradients.append(train(name, "none", 1, model, *batch, 6, 1, lambda flat: None)[0])
    assert relative_error(gradients[1], gradients[0]) < 1e-15


def test_adam_forgives_a_scale_that_sgd_does_not() -> None:
    off = {}
    for optimizer in ("sgd", "adam"):
        weights = []
        for times in (1.0, 2.0):
            model = network(torch.float64, CPU)
            batch = examples(6, torch.float64, CPU)
            weights.append(train("right", optimizer, 3, model, *batch, 6, 1, lambda flat, t=times: flat.mul_(t))[1])
        off[optimizer] = relative_error(weights[1], weights[0])
    assert off["adam"] < 0.01 * off["sgd"]


def test_the_table_has_a_row_for_each_recipe() -> None:
    found = {f"{name}-{what}": 0.125 for name in RECIPES for what in ("first", "other", "sgd", "adam")}
    rows = list(drawings.bugs(found).rows)
    assert [len(row) for row in rows] == [5] * len(RECIPES)
    assert rows[0][1] == "1e-01"
