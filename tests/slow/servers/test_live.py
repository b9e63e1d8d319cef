"""Faults in the middle of a training: nothing that was acknowledged is lost, and all go on."""

from __future__ import annotations

import pickle
from functools import partial
from math import inf

import pytest

from dlperf.network import unavailable
from dlperf.servers import live

PATIENT = 6.0
"""On a machine that has other work a server may be silent for longer than a page would wait."""


def test_servers_and_workers_that_fail_cost_time_only():
    line = live.on_this_machine(PATIENT)
    assert line.is_whole, line.objections
    assert pickle.loads(pickle.dumps(line)) == line
    assert [(event.what, event.who) for event in line.events] == [
        ("kill", "server 1"), ("start", "server 1"), ("pause", "server 2"), ("resume", "server 2"),
        ("kill", "worker 1"), ("start", "worker 1"),
    ]  # fmt: skip
    before, while_paused, back = line.answers
    assert before.reason == "value"
    assert while_paused.reason in ("not ready", "epoch")  # whichever it heard first
    assert back.reason == "epoch"
    assert line.refused[1]["epoch"] > line.refused[0].get("epoch", 0)
    assert any(seen.dropped == (1,) for seen in line.seen)
    assert any(seen.dropped == () for seen in line.seen if seen.moment > line.events[-1].moment)
    back_again = [push for push in line.pushes if push.worker == 1 and push.begin > line.events[-1].moment]
    assert len(back_again) > 3


@pytest.mark.skipif(bool(unavailable()), reason="this system makes no network namespaces")
def test_a_link_that_is_cut_costs_time_only():
    cut = partial(live.cut_server, cut=2 * PATIENT)
    line = live.in_a_network(PATIENT, cut)
    assert line.is_whole, line.objections
    _, mend = line.events
    assert {push.worker for push in line.pushes if mend.moment < push.acknowledged < inf} == {0, 1}
    assert not any(1 in chain for seen in line.seen if seen.moment > mend.moment - 0.5 for chain in seen.chains)
