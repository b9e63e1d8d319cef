"""What a prediction leaves out is named, with its share."""

from __future__ import annotations

import pytest

from dlperf.measuring import coverage
from dlperf.measuring.coverage import call
from dlperf.models.cost import Operator

PRODUCT = Operator("mm", 10**6, 10)  # 10**5 bytes' worth
SMALL = Operator("add", 0, 10**4)
LARGE = Operator("add", 0, 9 * 10**4)
OPS = [SMALL, PRODUCT, SMALL, LARGE]


def test_the_heaviest_calls_are_those_that_have_most_to_do_together() -> None:
    assert coverage.heaviest(OPS) == [PRODUCT, LARGE, SMALL]
    assert coverage.heaviest([*OPS, *[SMALL] * 9]) == [SMALL, PRODUCT, LARGE]


def test_what_was_not_timed_is_counted_and_named_with_its_share_of_the_work() -> None:
    assert coverage.untimed(OPS, {call(op): 1.0 for op in OPS}) == ""
    text = coverage.untimed(OPS, {call(PRODUCT): 1.0, call(LARGE): 1.0})
    assert text == "not timed alone: 2 of 4 calls with 9.5% of the work, of add"
    many = [Operator(f"op{n}", 0, 10 - n) for n in range(8)]
    assert coverage.untimed(many, {}).endswith("of op0, op1, op2, op3, op4 and 3 more")


def test_what_has_no_formula_is_named_with_its_share_of_bytes_or_of_seconds() -> None:
    fused = Operator("_some_fused_layer", 0, 10**5)
    found = coverage.without_formula([*OPS, fused])
    whole = 2 * 10**4 + 10 + 9 * 10**4 + 10**5
    assert list(found.items()) == [
        ("add", pytest.approx(11 * 10**4 / whole)),
        ("_some_fused_layer", pytest.approx(10**5 / whole)),
    ]
    seconds = {call(PRODUCT): 2.0, call(SMALL): 0.5, call(LARGE): 1.0, call(fused): 4.0}
    assert coverage.without_formula([*OPS, fused], seconds) == {"_some_fused_layer": 0.5, "add": 0.25}
    assert coverage.without_formula([PRODUCT]) == {}
    assert coverage.without_formula([]) == {}


@pytest.mark.parametrize(("name", "pointwise"), [("add", True), ("relu_", True), ("mm", False), ("no such", False)])
def test_pytorch_tells_which_operators_are_pointwise(name: str, pointwise: bool) -> None:
    assert coverage.is_pointwise(name) == pointwise
