"""The probes of links beside iperf3."""

from __future__ import annotations

import time

import pytest

from dlperf import network
from dlperf.hardware import links, reference_tools
from dlperf.network import GIGABIT, Network
from tests.long.tools import require

why = network.unavailable()
needs_namespaces = pytest.mark.skipif(bool(why), reason=why)


@needs_namespaces
def test_a_long_message_takes_longer_than_a_short_one() -> None:
    with Network(2, GIGABIT / 10) as link, links.over(link) as trips:
        short, long = links.by_size(trips, [16, 2**20], samples=3)
    assert short.median < long.median


@needs_namespaces
def test_iperf3_and_the_probe_find_the_same_link() -> None:
    require("iperf3")
    with Network(2, GIGABIT / 10) as link, links.over(link) as trips:
        ours = links.bandwidth(trips, 2**22)
        theirs = reference_tools.iperf3_over(link, 2**22)
    assert ours / theirs == pytest.approx(1, abs=0.25)


def test_iperf3_within_the_machine_is_no_slower_than_its_whole_run() -> None:
    require("iperf3")
    start = time.perf_counter()
    rate = reference_tools.iperf3(2**28)
    assert 2**28 / rate <= time.perf_counter() - start
