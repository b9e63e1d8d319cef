"""What a cell may record, and what it is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dlperf.records import bundle, record


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float64("nan")])
def test_what_is_no_finite_number_is_refused_by_its_key(value: float) -> None:
    """JSON has none of these: a kernel would hand on the string ``nan``, and a claim compare it with a number."""
    with pytest.raises(ValueError, match=r"^page\.key: -?(nan|inf) cannot be recorded"):
        record("page.key", value)


@pytest.mark.parametrize("value", [0.0, 1e300, -1, "∞", "–"])
def test_finite_numbers_and_signs_are_recorded(value: float | str) -> None:
    data = next(content for mime, content in bundle("page.key", value)["page.key"].items() if "json" in mime)
    assert data["value"] == value


def test_what_is_no_value_is_refused_by_its_key() -> None:
    with pytest.raises(TypeError, match=r"^page\.key: record takes"):
        bundle("page.key", [1, 2])


@pytest.mark.parametrize("key", ["key", ".key", "page."])
def test_a_key_has_a_page(key: str) -> None:
    with pytest.raises(ValueError, match=r"page\.name"):
        record(key, 1)
