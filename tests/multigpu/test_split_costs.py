"""The formulas of the ways to split, at numbers that one can work out."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from dlperf.multigpu import split_costs
from dlperf.multigpu.split_costs import PLANS, Plan
from dlperf.multigpu.splits import Case, Sizes, Strategy


def test_each_device_sends_its_share_to_all_others_twice():
    assert split_costs.summed(100, 1) == 0
    assert split_costs.summed(100, 2) == 100
    assert split_costs.summed(100, 4) == 150


def test_by_data_and_by_layer_send_the_same_where_there_are_as_many_rows_as_hidden_values():
    for k in (2, 3, 8):
        for rows, sign in ((63, 1), (64, 0), (65, -1)):
            sizes = Sizes(rows, 512, 64)
            data, layer = (split_costs.predicted_bytes(Case(s, sizes), k) for s in (Strategy.DATA, Strategy.LAYER))
            assert (data > layer) - (data < layer) == sign


def test_bytes_and_memory_count_every_number():
    sizes = Sizes(rows=10, width=7, hidden=3, dtype=torch.float64)
    data, layer, network = (Case(strategy, sizes, 5) for strategy in Strategy)
    assert [split_costs.predicted_bytes(case) for case in (data, layer, network)] == [8 * 42, 8 * 140, 8 * 30]
    assert split_costs.predicted_memory(data) == 8 * (84 + 5 * 34)
    assert split_costs.predicted_memory(layer) == 8 * (42 + 10 * 31)
    assert split_costs.predicted_memory(network) == 8 * (42 + 21 + 20 * 10 + 14)


def test_a_plan_without_waiting_is_used_fully():
    plan = Plan(layers=2, width=10, tokens=2**20, devices=4, rate=1e30)
    assert plan.weights == 2400
    assert plan.computing == pytest.approx(6 * 2400 * 2**20 / 4 / 400e12)
    assert plan.efficiency(Strategy.DATA) == 1
    assert plan.efficiency(Strategy.LAYER) == pytest.approx(1)
    assert plan.efficiency(Strategy.NETWORK) == pytest.approx(16 / 19)  # four micro-batches for each device


def test_a_plan_waits_for_what_its_strategy_sends():
    plan = Plan(layers=1, width=100, tokens=4096, devices=2, rate=1e6, flops=1e9)
    computing = 6 * 120_000 * 4096 / 2 / 1e9
    assert plan.efficiency(Strategy.DATA) == 1  # 0.24 s beside the backward pass
    assert plan.efficiency(Strategy.LAYER) == pytest.approx(computing / (computing + 4 * 0.8192))
    whole = computing * 3 / 2 + 2 * 0.8192 / 2  # two sequences are two micro-batches
    assert plan.efficiency(Strategy.NETWORK) == pytest.approx(computing / whole)
    slow = replace(plan, rate=1e3)
    assert slow.efficiency(Strategy.DATA) == pytest.approx(computing / (computing / 3 + 240))
    assert slow.efficiency(Strategy.NETWORK) == pytest.approx(computing / max(computing * 1.5 + 819.2, 819.2))


def test_the_best_strategy_fits():
    plan = Plan(layers=1, width=100, tokens=2**20, devices=4, rate=1e12, memory=16 * 120_000)
    assert plan.best() is Strategy.DATA
    assert replace(plan, memory=16 * 120_000 - 1).best() is not Strategy.DATA
    assert replace(plan, memory=16 * 120_000 / 4 - 1).best() is None


def test_the_plans_of_the_table_show_each_strategy_and_one_that_does_not_fit():
    assert {plan.best() for _, _, plan in PLANS} == {*Strategy, None}
    for model, _, plan in PLANS:
        size = {"M": 1e6, "B": 1e9}[model[-1]] * float(model[len("GPT, ") : -2])
        assert plan.weights == pytest.approx(size, rel=0.02)
