"""Keys go to servers evenly, parts go round, and a further server moves only its share."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlperf.kvstore import placement
from dlperf.kvstore.placement import PART, WHOLE, Ring, cut

KEYS = [f"layer {i}" for i in range(4000)]


@pytest.mark.parametrize("servers", [1, 2, 3, 8])
def test_every_server_has_about_its_share(servers: int) -> None:
    found = Counter(map(Ring(servers).home, KEYS))
    assert sorted(found) == list(range(servers))
    assert max(found.values()) < 1.35 * len(KEYS) / servers


def test_a_further_server_takes_keys_and_moves_no_others() -> None:
    before, after = Ring(4), Ring(5)
    moved = [key for key in KEYS if before.home(key) != after.home(key)]
    assert 0.1 < len(moved) / len(KEYS) < 0.3  # a fifth; by the remainder of a hash it would be four fifths
    assert {after.home(key) for key in moved} == {4}


def test_parts_of_a_key_go_round_all_servers() -> None:
    ring = Ring(5)
    assert sorted(ring.home("w", part) for part in range(5)) == list(range(5))


@given(st.integers(0, 10**8), st.sampled_from([1, 4, 8, 4000]), st.integers(1, 9))
def test_parts_are_the_whole_in_order_and_small_enough(length: int, itemsize: int, servers: int) -> None:
    parts = cut(length, itemsize, servers)
    assert [p.start for p in parts] == [0, *(p.stop for p in parts[:-1])]
    assert parts[-1].stop == length
    sizes = [(p.stop - p.start) * itemsize for p in parts]
    assert max(sizes) <= PART + itemsize
    assert max(sizes) - min(sizes) <= itemsize
    if length * itemsize >= servers * WHOLE and length >= servers:
        assert len(parts) >= servers


def test_the_chain_of_a_range_begins_with_its_own_server_where_that_is_up() -> None:
    assert placement.chain(3, range(5), 3, 5) == [3, 4, 0]
    assert placement.chain(3, [0, 1, 4], 2, 5) == [4, 0]


def test_no_servers_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one server, got 0"):
        Ring(0)
