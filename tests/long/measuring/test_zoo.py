"""The zoo, tiny and larger: predicted beside measured steps. What comes out is printed and judges nothing."""

from __future__ import annotations

import math
from statistics import median

import pytest
import torch

from dlperf.measuring import asking, model, prediction
from dlperf.measuring.coverage import Call, without_formula
from dlperf.models.cost import operators
from tests.zoo import ZOO

Costs = dict[str, float]


@pytest.fixture(scope="module")
def here() -> model.Machine:
    return model.machine(model.calibrate("cpu"), "cpu")


@pytest.fixture(scope="module")
def fitted(here: model.Machine) -> tuple[Costs, Costs]:
    """What asking costs in the book's two steps, beyond the roof, and beyond what operators take alone."""
    tiny = [asking.phased(step, "cpu") for step in asking.tiny_steps("cpu").values()]
    seconds: dict[Call, float] = prediction.each_alone(op for each in tiny for op in each.ops)
    return (
        asking.per_operator(tiny, asking.at_the_roof(here)),
        asking.per_operator(tiny, asking.as_alone(seconds)),
    )


def test_what_asking_costs_in_a_step_is_a_time(
    here: model.Machine, fitted: tuple[Costs, Costs], capsys: pytest.CaptureFixture[str]
) -> None:
    for costs in fitted:
        assert all(0 <= seconds < math.inf for seconds in costs.values())
    micro = [{phase or "all": round(1e6 * seconds, 1) for phase, seconds in costs.items()} for costs in fitted]
    with capsys.disabled():
        print(
            f"\nasking in a loop {1e6 * here.overhead:.1f} us; in a step {micro[0]}, beyond operators alone {micro[1]}"
        )


@pytest.mark.parametrize("large", [False, True], ids=["tiny", "large"])
@pytest.mark.parametrize("name", ZOO)
def test_a_step_is_predicted(
    name: str, large: bool, here: model.Machine, fitted: tuple[Costs, Costs], capsys: pytest.CaptureFixture[str]
) -> None:
    torch.manual_seed(0)
    step = ZOO[name](large)
    step()
    ops = operators(step)
    steps, singly = prediction.in_turn(step, ops, "cpu", repeats=5, limit=60)
    seconds = prediction.typical(singly)
    roof, alone = asking.at_the_roof(here), asking.as_alone(seconds)
    predicted = {
        "roof": sum(here.predict(op.flops, op.bytes) for op in ops),
        "roof, o of a step": sum(asking.predict(ops, roof, fitted[0]).values()),
        "alone": sum(prediction.by_phase(ops, seconds).values()),
        "alone, o of a step": sum(asking.predict(ops, alone, fitted[1]).values()),
    }
    assert all(0 < each < math.inf for each in (*steps, *predicted.values()))
    took = median(steps)
    ratios = "   ".join(f"{way} {each / took:.2f}" for way, each in predicted.items())
    bare = ", ".join(f"{each} {share:.0%}" for each, share in list(without_formula(ops, seconds).items())[:2])
    size = "large" if large else "tiny"
    with capsys.disabled():
        print(f"\n{name}, {size}: {1e3 * took:.1f} ms, {len(ops)} operators   {ratios}   no formula: {bare}")
