"""The emulated links: what arrives, in what time at least, and how iperf3 is asked about them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dlperf import network
from dlperf.hardware import links, reference_tools
from dlperf.network import GIGABIT, PAYLOAD, Network
from tests import faked

why = network.unavailable()
pytestmark = pytest.mark.skipif(bool(why), reason=why)

RECEIVED = json.dumps({"end": {"sum_received": {"bits_per_second": 8e8}}})
"""What iperf3 prints of 100 MB/s, in short."""


RATE = GIGABIT / 10


@pytest.fixture(scope="module")
def faked_iperf3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        yield faked.command("iperf3", RECEIVED, tmp_path_factory.mktemp("tools"), patch)


@pytest.fixture(scope="module")
def link(faked_iperf3: Path) -> Iterator[Network]:
    """Two hosts, which import the probes once, and find the stand-in for iperf3."""
    with Network(2, RATE) as made:
        yield made


def test_a_message_takes_at_least_its_bytes_at_the_rate(link: Network) -> None:
    size, rate = 2**20, RATE
    with links.over(link) as trips:
        assert trips(size, 2) >= 0.9 * 2 * size / PAYLOAD / rate
        short, long = links.by_size(trips, [16, size], samples=3)
    assert min(long.samples) >= 0.9 * size / PAYLOAD / rate
    assert [len(m.samples) for m in (short, long)] == [3, 3]


def calls(log: Path) -> list[list[str]]:
    """Returns the arguments of each call so far, and forgets them."""
    said = list(map(json.loads, log.read_text().splitlines()))
    log.unlink()
    return said


def test_iperf3_is_asked_at_both_ends_of_a_link(link: Network, faked_iperf3: Path) -> None:
    """Beside a real iperf3 the link is measured in `tests/long`."""
    assert reference_tools.iperf3_over(link, 2**22) == 1e8
    client, server = sorted(calls(faked_iperf3), key=lambda call: call[0])
    assert (client[:2], server[0]) == (["--client", "10.0.0.2"], "--server")
    assert client[client.index("--bytes") + 1] == str(2**22)
    assert server[server.index("--bind") + 1] == "10.0.0.2"
    assert client[client.index("--port") + 1] == server[server.index("--port") + 1]


def test_iperf3_is_asked_at_a_free_port_within_the_machine(faked_iperf3: Path) -> None:
    assert reference_tools.iperf3(2**28) == 1e8
    said = calls(faked_iperf3)
    assert {call[0] for call in said} == {"--client", "--server"}
    assert len({call[call.index("--port") + 1] for call in said}) == 1


def test_four_kibibytes_go_over_ten_gigabit(monkeypatch: pytest.MonkeyPatch) -> None:
    """The probe's samples are part of the time that it took, and its link has that rate."""
    made = []
    monkeypatch.setattr(links.network, "Network", lambda *given: made.append(given) or Network(*given))
    start = time.perf_counter()
    m = links.over_ten_gigabit()
    assert m.unit == "s"
    assert sum(m.samples) * m.calls_per_sample <= time.perf_counter() - start
    assert made == [(2, 10 * GIGABIT)]
