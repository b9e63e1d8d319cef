"""Views: whatever happens, a chain keeps somebody who has all that was acknowledged."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlperf.kvstore import membership
from dlperf.kvstore.membership import NOBODY, View


def begun(servers: int, copies: int, workers: int = 2) -> View:
    view = membership.empty(servers, workers)
    for server in range(servers):
        runs = (*view.runs[:server], server + 1, *view.runs[server + 1 :])
        view = View(0, runs, view.chains, view.joining, view.workers)
    return membership.begin(view, copies)


def test_a_cluster_begins_when_all_servers_are_there() -> None:
    assert begun(3, 2).chains == ((0, 1), (1, 2), (2, 0))
    with pytest.raises(ValueError, match="when all servers are up"):
        membership.begin(membership.empty(2, 1), 1)


def test_the_range_of_a_server_that_is_gone_goes_to_its_successor_and_another_joins() -> None:
    view = membership.servers_gone(begun(3, 2), [0], 2)
    assert view.chains == ((1,), (1, 2), (2,))
    assert view.joining == (2, NOBODY, 1)
    view = membership.caught_up(view, 0, 2, 2)
    assert view.chains[0] == (1, 2)
    back = membership.server_came(view, 0, 99, (), 2)
    assert back.chains[0] == (1, 2)
    assert back.runs[0] == 99


def test_the_last_server_of_a_range_stays_until_it_comes_back_with_it() -> None:
    gone = membership.servers_gone(begun(2, 1), [1], 1)
    assert gone.chains[1] == (1,)
    assert not gone.is_up(1)
    assert membership.server_came(gone, 1, 99, [1], 1).is_up(1)
    lost = membership.server_came(gone, 1, 99, [], 1)
    assert lost.chains[1] == ()
    assert not lost.is_up(1)


def test_after_all_were_down_a_range_is_with_those_that_have_it() -> None:
    all_have = [{0: 9, 2: 9}, {0: 8, 1: 9}, {1: 10, 2: 9}]
    view = membership.recovered(begun(3, 2), (11, 12, 13), all_have, 2)
    assert view.chains == ((0, 1), (2, 1), (2, 0))  # who has most of a range first
    assert view.joining == (NOBODY,) * 3
    without = membership.recovered(begun(3, 2), (0, 12, 13), [{}, *all_have[1:]], 2)
    assert without.chains == ((1,), (2, 1), (2,))
    assert without.joining == (2, NOBODY, 1)
    untouched = membership.recovered(begun(3, 2), (1, 2, 3), [{}, {}, {}], 2)
    assert untouched.chains == ((0, 1), (1, 2), (2, 0))


EVENTS = st.one_of(
    st.tuples(st.just("gone"), st.integers(0, 3)),
    st.tuples(st.just("came"), st.integers(0, 3)),
    st.tuples(st.just("filled"), st.integers(0, 3)),
    st.tuples(st.just("worker"), st.integers(0, 1)),
)


@given(st.integers(1, 4), st.lists(EVENTS, max_size=40))
def test_chains_lose_nothing_that_was_acknowledged(copies: int, events: list[tuple[str, int]]) -> None:
    """Servers keep nothing when they are gone; only who was filled up, or never gone, has a range."""
    view = begun(4, copies)
    has = [set(chain) for chain in view.chains]
    for number, (what, which) in enumerate(events):
        before = view
        if what == "gone":
            view = membership.servers_gone(view, [which], copies)
            has = [each - {which} for each in has]
        elif what == "came":
            view = membership.server_came(view, which, 100 + number, (), copies)
            has = [each - {which} for each in has]
        elif what == "filled" and view.joining[which] != NOBODY and view.is_up(which):
            has[which].add(view.joining[which])
            view = membership.caught_up(view, which, view.joining[which], copies)
        elif what == "worker":
            view = membership.worker_gone(view, which, drop=True)
        assert view == before or view.epoch > before.epoch
        for r, chain in enumerate(view.chains):
            assert len(set(chain)) == len(chain) <= copies
            assert view.joining[r] not in chain
            if view.is_up(r):
                assert set(chain) <= has[r]
            assert chain or not has[r]


def test_workers_come_and_go() -> None:
    view: Any = membership.worker_came(begun(1, 1), 0, 1)
    view = membership.worker_gone(view, 1, drop=True)
    assert (view.lost, view.dropped, view.active) == ((1,), (1,), (0,))
    view = membership.worker_came(view, 1, 2)
    assert (view.lost, view.dropped, view.active) == ((), (), (0, 1))
    assert membership.worker_gone(view, 1, drop=False).active == (0, 1)
