"""A ratio of medians is a number that remembers its sides."""

from __future__ import annotations

import pickle

import pytest

from dlperf.measurement import Measurement, UnitError
from dlperf.ratio import Ratio, over
from dlperf.records import MIME, bundle

A, B = Measurement((2.0, 4.0, 6.0)), Measurement((1.0, 2.0, 2.5))


def test_it_is_the_ratio_of_the_medians() -> None:
    assert over(A, B) == 2.0
    assert f"{over(A, B):.1f}" == "2.0"
    assert over(A, B).sides == (A, B)
    assert over(A, B, because="a reason").because == "a reason"
    assert pickle.loads(pickle.dumps(over(A, B))).sides == (A, B)


def test_arithmetic_keeps_the_sides() -> None:
    ratio = over(A, B, because="a")
    for made, value in ((3 * ratio, 6), (ratio * 3, 6), (ratio / 4, 0.5), (4 / ratio, 2)):
        assert (made, made.sides, made.because) == (value, (A, B), "a")
    assert (ratio * over(B, A)).sides == (A, B, B, A)
    assert (ratio * over(B, A)).because == ""  # one of them has no reason
    assert (ratio / over(A, B, because="b")).because == "a; b"


def test_sides_have_one_unit() -> None:
    with pytest.raises(UnitError, match="s over B/s"):
        over(A, Measurement((1.0,), "B/s"))


def test_it_is_recorded_with_its_sides_and_its_reason() -> None:
    found = bundle("p.r", over(A, B, because="a"))
    data = found["p.r"][MIME]
    assert (data["value"], type(data["value"]), data["because"]) == (2.0, float, "a")
    assert data["sides"] == [{"samples": [2.0, 4.0, 6.0], "unit": "s"}, {"samples": [1.0, 2.0, 2.5], "unit": "s"}]
    assert found["p.r"]["text/plain"] == "2"
    assert found["p.r.percent"]["text/plain"] == "200 %"


def test_a_plain_number_has_none() -> None:
    assert "sides" not in bundle("p.r", float(Ratio(2.0, (A,))))["p.r"][MIME]
