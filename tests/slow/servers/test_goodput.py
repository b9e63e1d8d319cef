"""The store over limited links: no round takes less than the links ask for."""

from __future__ import annotations

import pytest

from dlperf.network import unavailable
from dlperf.servers import goodput

pytestmark = pytest.mark.skipif(bool(unavailable()), reason="this system makes no network namespaces")
MIB = 2**20


@pytest.mark.parametrize(("servers", "workers"), [(1, 1), (1, 2), (2, 2)])
def test_a_round_takes_what_the_links_take(servers: int, workers: int) -> None:
    bound = goodput.bound(servers, workers, 16 * MIB)
    found = goodput.measured((servers,), workers, 16 * MIB, repeats=2)[servers]["both"]
    assert bound < min(found.samples) * 1.02  # links are limited


def test_the_bound_is_that_of_the_fullest_link() -> None:
    one = goodput.bound(1, 1, MIB)
    assert goodput.bound(1, 4, MIB) == 4 * one
    assert goodput.bound(2, 4, MIB) == 2 * one
    assert goodput.bound(4, 2, MIB) == one
