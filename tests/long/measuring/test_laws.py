"""A queue seen from three sides: what the clocks see obeys Little's law."""

from __future__ import annotations

import math

from dlperf.measuring import laws


def test_queue_seen_from_three_sides_obeys_little() -> None:
    seen = laws.watch_queue(rate=200, service=2e-3, requests=100)
    assert math.isclose(seen.occupancy, laws.little(seen.rate, seen.wait), rel_tol=0.5)
