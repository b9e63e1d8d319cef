"""A step under the roofline: what it attains, and where the rest of its time goes."""

from __future__ import annotations

import matplotlib.pyplot as plt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dlperf.hardware import roofline
from dlperf.measurement import Measurement
from dlperf.models.cost import Operator, operators

ROOF = roofline.Roof(peak=8e9, bandwidth=1e9)
OPS = [
    Operator("mm", 16_000_000, 1_000_000),  # 2 ms at the roof, by its FLOPs
    Operator("add", 0, 3_000_000),  # 3 ms, by its bytes
    Operator("add", 0, 3_000_000),
    Operator("mul_", 0, 1_000),  # a microsecond
]
ALONE = {("mm", 16_000_000, 1_000_000): 5e-3, ("add", 0, 3_000_000): 2e-3, ("mul_", 0, 1_000): 11e-6}


def test_a_roof_is_the_longer_of_two_sides() -> None:
    assert (ROOF.ridge, ROOF.rate(4), ROOF.rate(100)) == (8, 4e9, 8e9)
    assert ROOF.seconds(8e9, 0) == ROOF.seconds(0, 1e9) == ROOF.seconds(8e9, 1e9) == 1
    assert ROOF.step(OPS) == pytest.approx(2e-3 + 6e-3 + 1e-6)


def test_each_part_of_a_step_is_counted_once() -> None:
    found = roofline.where(OPS, ROOF, ALONE, step=20e-3, asking=10e-6)
    assert tuple(found) == roofline.PARTS
    assert found["products"] == pytest.approx(3e-3 / 20e-3)
    assert found["others"] == pytest.approx(-2e-3 / 20e-3)  # they were quicker than memory
    assert found["short"] == pytest.approx(10e-6 / 20e-3)
    assert found["between"] == pytest.approx((20e-3 - 9.011e-3) / 20e-3)


@given(st.floats(1e-3, 1), st.floats(0, 1e-2))
def test_the_parts_are_the_whole(step: float, asking: float) -> None:
    assert sum(roofline.where(OPS, ROOF, ALONE, step, asking).values()) == pytest.approx(1)


@pytest.mark.parametrize(("between", "share"), [(-0.2, 5 / 9.011), (0.25, 5 / 9.011 / 1.25)])
def test_the_share_of_products_is_of_the_whole_step(between: float, share: float) -> None:
    """What lies between operators makes it smaller; operators that take less together do not make it larger."""
    parts = {"between": Measurement((between,) * 3, "1")}
    found = roofline.Losses(parts, ALONE, ALONE, ROOF, Measurement((1.0,) * 3, "s"), {})
    assert roofline.product_share(OPS, found) == pytest.approx(share)


def test_kinds_are_sorted_by_what_they_take() -> None:
    first, second, third = roofline.kinds(OPS, ROOF, ALONE)
    assert (first.name, first.calls, first.intensity) == ("mm", 1, 16)
    assert (second.name, second.calls, second.intensity) == ("add", 2, 0)
    assert first.roof == pytest.approx(2 / 5)
    assert second.roof == pytest.approx(3 / 2)
    assert third.name == "mul_"
    assert first.share + second.share + third.share == pytest.approx(1)


def test_what_is_quicker_than_memory_is_in_a_cache() -> None:
    assert roofline.in_caches(OPS, ROOF.bandwidth, ALONE) == pytest.approx(6_000_000 / 6_001_000)
    assert roofline.in_caches(OPS[:1], ROOF.bandwidth, ALONE) == 0


def test_a_real_step_has_a_roof() -> None:
    net = torch.nn.Linear(64, 32)
    ops = operators(lambda: net(torch.ones(8, 64)).sum().backward())
    flops = sum(op.flops for op in ops)
    assert ROOF.step(ops) >= flops / ROOF.peak > 0


def test_arrays_are_larger_than_the_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roofline, "memory_bytes", lambda: 2**40)
    monkeypatch.setattr(roofline, "cache_bytes", lambda: 2**30)
    assert roofline.elements("cpu") * 4 == 2 * 2**30
    monkeypatch.setattr(roofline, "memory_bytes", lambda: 2**32)
    assert roofline.elements("cpu") * 4 <= 2**32 // 16


@pytest.mark.parametrize(("reach", "corners"), [((1, 100), [1, 8, 100]), ((10, 100), [10, 10, 100])])
def test_the_roof_is_drawn_with_its_ridge(reach: tuple[float, float], corners: list[float]) -> None:
    fig, ax = plt.subplots()
    roofline.draw(ax, ROOF, reach)
    (drawn,) = ax.lines
    assert list(drawn.get_xdata()) == corners
    assert list(drawn.get_ydata()) == [ROOF.rate(i) for i in corners]
    plt.close(fig)


def test_losses_are_found_sample_by_sample() -> None:
    """The operators of a product and a sum, each alone, and the step that calls both."""
    a = torch.ones(64, 64)

    def step() -> object:
        return (a @ a).exp_()

    ops = operators(step)
    probes = {"product": lambda: a @ a, "read": lambda: a.sum(), "asking": lambda: torch.ones(())}
    work = {"product": (2 * 64**3, "FLOP"), "read": (4 * 64**2, "B")}
    found = roofline.losses(step, ops, probes, work, "cpu", rounds=2)
    assert set(found.alone) == {roofline.call(op) for op in ops}
    assert min(found.alone.values()) > 0
    assert found.roof.peak > 0 < found.roof.bandwidth
    assert tuple(found.parts) == roofline.PARTS
    for turn in zip(*(m.samples for m in found.parts.values()), strict=True):
        assert sum(turn) == pytest.approx(1)
    assert (found.parts["roof"] / found.parts["products"]).unit == "1"  # they were taken in turn
    assert set(found.probes) == set(probes)
    peak = 2 * 64**3 / found.probes["product"].samples[0]
    roof = roofline.Roof(peak, 4 * 64**2 / found.probes["read"].samples[0])
    assert found.parts["roof"].samples[0] == pytest.approx(roof.step(ops) / found.step.samples[0])


def test_probes_of_all_steps_are_one_measurement() -> None:
    """Their samples are those of both, and no ratio can pair them by the order in which they stand."""
    sides = [
        roofline.Losses(
            {}, {}, {}, ROOF, Measurement((1.0, 2.0), "s"), {"read": Measurement(samples, "s", pairing_id="t")}
        )
        for samples in ((1.0, 2.0), (3.0, 4.0))
    ]
    found = roofline.probed(sides)
    assert found["read"].samples == (1, 2, 3, 4)
    assert found["read"].pairing_id == ""
