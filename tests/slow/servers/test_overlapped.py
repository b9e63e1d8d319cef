"""Pushes that begin early count as those that begin late, and neither is faster than the link."""

from __future__ import annotations

import pytest

from dlperf.network import unavailable
from dlperf.servers import overlapped


@pytest.mark.skipif(bool(unavailable()), reason="this system makes no network namespaces")
def test_late_and_early_pushes_take_what_the_link_does():
    late, early, told = overlapped.measured(layers=8, size=2**21, repeats=3)
    assert min(late.samples) > 0.97 * told["late"]
    assert min(early.samples) > 0.97 * told["early"]


def test_what_is_predicted():
    assert overlapped.predict(8, 1.0, 1.0) == {"late": 2.0, "early": 1.125}
    assert overlapped.predict(4, 1.0, 0.0) == {"late": 1.0, "early": 1.0}
