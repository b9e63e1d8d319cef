"""All-reduce by a ring, a tree, halving and doubling, and by levels: sums, bytes and messages of real processes."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dlperf.alpha_beta import Line
from dlperf.multigpu.launching import launch
from dlperf.servers import collective_costs as costs
from dlperf.servers.collective_trials import ALL, slowest
from dlperf.servers.collectives import WAYS
from dlperf.servers.ring import steps
from tests.servers.replay import length
from tests.servers.summing import LENGTH, everything, shapes, ways

WORLD = 6
SIZE = 8 * LENGTH
EVERY = [(way, k) for k in range(1, WORLD + 1) for way in ways(k)]
LEVELS = [(way, int(way.split()[1]), k) for way, k in EVERY if way.startswith("hierarchical")]


@pytest.fixture(scope="module")
def told():
    return launch(everything, WORLD)


def test_every_way_finds_the_sum_over_one_to_six_ranks(told):
    checks = [sum(len(ways(k)) * len(list(shapes(k))) for k in range(r + 1, WORLD + 1)) for r in range(WORLD)]
    assert [len(each.sums) for each in told] == checks
    assert {what for each in told for what in each.sums} == {""}


def test_the_halves_of_a_ring_do_what_their_names_say(told):
    assert {each for rank in told for each in rank.halves} == {(True, True)}


def test_all_ranks_hold_the_same_bits(told):
    first, *others = (each.alike for each in told)
    assert set(first) == set(ways(WORLD))
    assert all(torch.equal(first[name], other[name]) for other in others for name in first)


def test_what_is_refused_is_named(told):
    for rank, said in enumerate(each.refused for each in told):
        assert ("ranks [1, 2, 3, 4, 5]" in said["others"]) if rank else ("others" not in said)
        assert all("contiguous" in said[name] for name in ways(WORLD))
        assert "local=4" in said["local=4"]
        assert "local=0" in said["local=0"]


def sent(told, way: str, ranks: int) -> list[int]:
    logs = [told[rank].messages[way, ranks] for rank in range(ranks)]
    return [sum(message.size for batch in log for message in batch if message.sends) for log in logs]


@pytest.mark.parametrize(("way", "ranks"), [(way, k) for way, k in EVERY if way in WAYS])
def test_bytes_sent_are_the_formula_s(told, way, ranks):
    assert max(sent(told, way, ranks)) == pytest.approx(costs.sent(way, ranks, SIZE), rel=1e-12)


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 6])
def test_two_directions_send_what_one_does_half_of_it_each_way(told, ranks):
    logs = [told[rank].messages["both directions", ranks] for rank in range(ranks)]
    assert sent(told, "both directions", ranks) == sent(told, "ring", ranks)
    for rank, log in enumerate(logs):
        right, left = ((rank + way) % ranks for way in (1, -1))
        assert all([m.peer for m in batch if m.sends] == [right, left] for batch in log)
        assert all(len({m.size for m in batch}) == 1 for batch in log)


@pytest.mark.parametrize(("way", "local", "ranks"), LEVELS)
def test_bytes_sent_by_level_are_the_formula_s(told, way, local, ranks):
    expected = costs.sent_by_level(local, ranks // local, SIZE)
    for rank in range(ranks):
        found = Counter()
        for message in (m for batch in told[rank].messages[way, ranks] for m in batch if m.sends):
            found[message.peer // local == rank // local] += message.size
        assert (found[True], found[False]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("line", [Line(1, 0), Line(0, 1), Line(300, 2)], ids=["latency", "rate", "both"])
@pytest.mark.parametrize(("way", "ranks"), [(way, k) for way, k in EVERY if way in WAYS])
def test_seconds_are_those_of_the_messages_that_were_sent(told, way, ranks, line):
    logs = [told[rank].messages[way, ranks] for rank in range(ranks)]
    found = length(logs, lambda source, target, size: line(size))
    assert found == pytest.approx(costs.seconds(way, ranks, SIZE, line), rel=1e-12)


@pytest.mark.parametrize(("way", "local", "ranks"), LEVELS)
def test_seconds_by_level_are_those_of_the_messages_that_were_sent(told, way, local, ranks):
    inside, across = Line(2, 0.1), Line(300, 2)
    logs = [told[rank].messages[way, ranks] for rank in range(ranks)]
    found = length(logs, lambda a, b, size: (inside if a // local == b // local else across)(size))
    assert found == pytest.approx(costs.seconds_by_level(local, ranks // local, SIZE, inside, across), rel=1e-12)


@pytest.mark.parametrize("ranks", range(1, WORLD + 1))
def test_a_ring_sends_what_its_steps_say(told, ranks):
    share = SIZE // ranks
    for rank in range(ranks):
        batches = ([m for m in batch if m.sends] for batch in told[rank].messages["ring", ranks])
        found = [(rank, m.peer, m.offset // share) for batch in batches for m in batch]
        assert found == [tuple(step[rank]) for step in steps(ranks)]


@given(st.integers(1, 20))
def test_steps_leave_every_share_of_every_rank_everywhere_once(world_size):
    held = [[Counter([rank]) for _ in range(world_size)] for rank in range(world_size)]
    for turn, step in enumerate(steps(world_size)):
        going = [(move, held[move.source][move.share].copy()) for move in step]
        for move, ranks in going:
            adding = turn < world_size - 1
            held[move.target][move.share] = held[move.target][move.share] + ranks if adding else ranks
        if turn == world_size - 2:
            assert all(held[rank][rank] == Counter(range(world_size)) for rank in range(world_size))
    assert all(share == Counter(range(world_size)) for shares in held for share in shares)


def test_a_ring_of_nobody_is_refused():
    with pytest.raises(ValueError, match="world_size=0"):
        steps(0)


def test_every_way_is_clocked(told):
    taken = slowest([each.clocked for each in told])
    assert set(taken) == {(way, n) for way in ALL for n in (4096, 8)}
    assert all(len(m.samples) == 3 and min(m.samples) > 0 for m in taken.values())
