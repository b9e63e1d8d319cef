"""Pushes that begin early are over earlier, and count as those that begin late."""

from __future__ import annotations

import pytest

from dlperf.network import unavailable
from dlperf.servers import overlapped


@pytest.mark.skipif(bool(unavailable()), reason="this system makes no network namespaces")
def test_sending_while_computing_saves_time():
    late, early, told = overlapped.measured(layers=8, size=2**21, repeats=3)
    assert min(late.samples) > 0.97 * told["late"]
    assert early.median < 0.9 * late.median


def test_what_is_predicted():
    assert overlapped.predict(8, 1.0, 1.0) == {"late": 2.0, "early": 1.125}
    assert overlapped.predict(4, 1.0, 0.0) == {"late": 1.0, "early": 1.0}
