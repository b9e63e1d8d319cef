"""The emulated links: what arrives, in what time at least, and what iperf3 says of them."""

from __future__ import annotations

import shutil
import time

import pytest

from dlperf import network
from dlperf.hardware import links, reference_tools
from dlperf.network import GIGABIT, PAYLOAD, Network

why = network.unavailable()
pytestmark = pytest.mark.skipif(bool(why), reason=why)
needs_iperf3 = pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")


def test_a_message_takes_at_least_its_bytes_at_the_rate() -> None:
    with Network(2, GIGABIT / 10) as link, links.over(link) as trips:
        assert trips(2**20, 2) >= 0.9 * 2 * 2**20 / PAYLOAD / (GIGABIT / 10)
        short, long = links.by_size(trips, [16, 2**20], samples=3)
    assert short.median < long.median


@needs_iperf3
def test_iperf3_and_the_probe_find_the_same_link() -> None:
    with Network(2, GIGABIT / 10) as link, links.over(link) as trips:
        ours = links.bandwidth(trips, 2**22)
        theirs = reference_tools.iperf3_over(link, 2**22)
    assert ours / theirs == pytest.approx(1, abs=0.25)


@needs_iperf3
def test_iperf3_within_the_machine_is_no_slower_than_its_whole_run() -> None:
    start = time.perf_counter()
    rate = reference_tools.iperf3(2**28)
    assert 2**28 / rate <= time.perf_counter() - start


def test_four_kibibytes_go_over_ten_gigabit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The probe's samples are part of the time that it took, and its link has that rate."""
    made = []
    monkeypatch.setattr(links.network, "Network", lambda *given: made.append(given) or Network(*given))
    start = time.perf_counter()
    m = links.over_ten_gigabit()
    assert m.unit == "s"
    assert sum(m.samples) * m.calls_per_sample <= time.perf_counter() - start
    assert made == [(2, 10 * GIGABIT)]
