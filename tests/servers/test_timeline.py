"""What is read off a timeline of pushes, and how a worker's notes become one."""

from __future__ import annotations

import pickle
from dataclasses import replace
from math import inf

import pytest

from dlperf.kvstore.placement import Ring
from dlperf.servers import live_worker
from dlperf.servers.timeline import Answer, Event, Push, Timeline, read, shifted

KILL, START, PAUSE = Event(1.5, "kill", "server 1"), Event(4.2, "start", "server 1"), Event(6.5, "pause", "server 0")
MOMENTS = [0.0, 0.5, 1.0, 4.0, 4.5, 5.0, 6.0, 7.0]
PUSHES = (*(Push(0, k, m - 0.1, m, m) for k, m in enumerate(MOMENTS)), Push(1, 99, 1.4))
LINE = Timeline(PUSHES, (KILL, START, PAUSE), (), (8, 9), ())


def test_an_outage_is_the_longest_time_without_a_push_that_a_fault_can_have_caused():
    assert LINE.outage(KILL) == 3.0
    assert LINE.outage(PAUSE) == 1.0
    with pytest.raises(ValueError, match="kill, pause, cut, got start"):
        LINE.outage(START)


def test_an_outage_ends_where_the_next_fault_begins():
    pushes = tuple(Push(0, k, m - 0.1, m, m) for k, m in enumerate([0.0, 1.0, 1.75, 2.5, 6.0]))
    kill, pause = Event(1.5, "kill", "server 1"), Event(2.75, "pause", "server 0")
    line = Timeline(pushes, (kill, pause), (), (5,), ())
    assert line.outage(kill) == 0.75  # not the 3.5 s that the pause has cost
    assert line.outage(pause) == 3.5


def test_what_does_harm_is_known():
    assert LINE.harm == [KILL, PAUSE]


def test_pushes_are_counted_by_time():
    moments, rates = LINE.rate(0.5)
    assert moments[:3] == [0.0, 0.5, 1.0]
    assert sum(rates) * 0.5 == len(MOMENTS)
    assert rates[:4] == [2.0, 2.0, 2.0, 0.0]


def test_it_is_whole_if_sums_have_what_was_acknowledged_and_no_more_than_was_begun():
    assert LINE.is_whole  # of the push that was never acknowledged, nothing is known
    assert not replace(LINE, sums=(7, 8)).is_whole
    assert not replace(LINE, sums=(8, 10)).is_whole
    assert not replace(LINE, objections=("place 3 was counted 2 times",)).is_whole


def test_notes_become_pushes_and_views():
    lines = [
        ["seen", 0, 10.0, 1, [[0, 1], [1, 0]], []],
        ["begin", 0, 11.0, 5], ["begin", 1, 11.5, 2005], ["read", 0, 1, 2, []],
        ["acknowledged", 0, 12.0, 5], ["counted", 0, 13.0, 5],
    ]  # fmt: skip
    pushes, seen = read(lines)
    assert pushes == [Push(0, 5, 11.0, 12.0, 13.0), Push(1, 2005, 11.5, inf, inf)]
    assert seen[0].chains == ((0, 1), (1, 0))
    moved = shifted(Timeline(tuple(pushes), (KILL,), tuple(seen), (1,), ()), 10.0)
    assert [push.begin for push in moved.pushes] == [1.0, 1.5]
    assert moved.pushes[1].acknowledged == inf
    assert pickle.loads(pickle.dumps(moved)) == moved


@pytest.mark.parametrize("servers", [1, 2, 3, 7])
def test_every_server_has_a_layer(servers):
    ring = Ring(servers)
    assert [ring.home(name) for name in live_worker.layers(servers)] == list(range(servers))


def test_what_is_half_written_is_not_read(tmp_path):
    file = live_worker.note_of(tmp_path, 0)
    assert live_worker.lines(file) == []
    file.write_bytes(b'["begin", 0, 1.0, 5]\n["ackn')
    assert live_worker.lines(file) == [["begin", 0, 1.0, 5]]


def test_outages_and_losses_are_read_off():
    assert LINE.outages == [LINE.outage(KILL), LINE.outage(PAUSE)]
    assert LINE.lost == 0
    assert replace(LINE, sums=(6, 8)).lost == 2


@pytest.mark.parametrize(
    ("reasons", "fenced"),
    [
        (("value", "lease", "epoch"), True),
        (("value", "value", "epoch"), False),
        (("value", "lease", "value"), False),
        (("lease", "lease", "epoch"), False),
    ],
)
def test_a_server_is_fenced_if_it_refuses_whatever_comes_after_its_pause(reasons, fenced):
    answers = tuple(Answer(k, 2, 1, reason) for k, reason in enumerate(reasons))
    assert replace(LINE, answers=answers).is_fenced == fenced


def test_who_was_not_asked_is_not_judged():
    with pytest.raises(ValueError, match="got 0 answers"):
        _ = LINE.is_fenced
