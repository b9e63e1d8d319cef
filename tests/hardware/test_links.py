"""Links: messages arrive whole, the line is found, iperf3's answer."""

from __future__ import annotations

import json
import socket
import time
from threading import Thread
from types import SimpleNamespace

import numpy as np
import pytest

from dlperf.environment import cores
from dlperf.hardware import alpha_beta, core_to_core, links, reference_tools
from dlperf.hardware.probe import Unknown

LINE = alpha_beta.Line(2e-5, 1e-9)
SIZES = [4**k for k in range(12)]


def test_the_fit_finds_the_line() -> None:
    found, missed = alpha_beta.check(SIZES, [LINE(n) for n in SIZES])
    assert (found.alpha, found.beta) == pytest.approx((LINE.alpha, LINE.beta))
    assert missed < 1e-9
    assert found.half == pytest.approx(2e4)
    assert found.bandwidth == pytest.approx(1e9)
    assert found(found.half) == pytest.approx(2 * found.alpha)


@pytest.mark.parametrize("bad", [0, 4, 10])
def test_one_bad_point_does_not_move_the_line(bad: int) -> None:
    times = [LINE(n) for n in SIZES]
    times[bad] *= 5
    found = alpha_beta.fit(SIZES, times)
    assert (found.alpha, found.beta) == pytest.approx((LINE.alpha, LINE.beta))


def test_the_check_does_not_see_what_it_predicts() -> None:
    times = [LINE(n) * (2 if k % 2 else 1) for k, n in enumerate(SIZES)]
    assert alpha_beta.check(SIZES, times)[1] == pytest.approx(0.5)


def test_times_that_fall_with_the_size_have_no_line() -> None:
    with pytest.raises(ValueError, match="no line with a latency"):
        alpha_beta.fit([1, 2, 3], [3.0, 2.0, 1.0])


def test_messages_arrive_whole() -> None:
    near, far = socket.socketpair()
    sent = np.random.default_rng(0).integers(0, 256, 2**20, np.uint8)
    got = np.zeros_like(sent)
    with near, far:
        answered: list[bool] = []
        taker = Thread(target=lambda: answered.append(links.take(far.fileno(), got, 3, 2)))
        taker.start()
        assert links.push(near.fileno(), sent.copy(), 3, 2)
        taker.join()
    assert answered == [True]
    assert (got[1:] == sent[1:]).all()  # the first byte is the answer's


def test_a_lost_connection_is_noticed() -> None:
    near, far = socket.socketpair()
    far.close()
    with near:
        assert not links.receive(near.fileno(), np.zeros(1, np.uint8))


def test_a_host_may_take_a_minute_until_it_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its process imports what it needs first; `_reach` sleeps between its tries, and here nobody sleeps."""
    waited = list[float]()
    with socket.socket() as host:
        host.bind(("127.0.0.1", 0))  # the port is its own from here on, and refuses whoever comes

        def sleep(seconds: float) -> None:
            waited.append(seconds)
            if sum(waited) >= 60:
                host.listen()

        monkeypatch.setattr(links, "PORT", host.getsockname()[1])
        monkeypatch.setattr(links.time, "sleep", sleep)
        with links._reach("127.0.0.1") as end:
            assert end.getpeername() == host.getsockname()
    assert sum(waited) >= 60


def test_a_message_crosses_shared_memory() -> None:
    flags, shared = np.zeros(32, np.int64), np.zeros(1000, np.uint8)
    mine, theirs = np.arange(1000).astype(np.uint8), np.zeros(1000, np.uint8)
    taker = Thread(target=core_to_core.take, args=(flags, shared, theirs, 1, 5))
    taker.start()
    core_to_core.push(flags, shared, mine, 1, 5)
    taker.join()
    assert (theirs == mine).all()
    assert flags[0] == flags[16] == 5


def test_the_flag_is_loaded_anew_in_each_turn() -> None:
    flags = np.zeros(32, np.int64)
    waiting = Thread(target=core_to_core.push, args=(flags, np.zeros(1, np.uint8), np.zeros(0, np.uint8), 1, 1))
    waiting.start()
    while flags[0] != 1:
        pass
    flags[16] = 1
    waiting.join(timeout=60)
    assert not waiting.is_alive()


@pytest.mark.parametrize("kind", ["unix", "loopback"])
def test_links_within_the_machine(kind: str) -> None:
    with links.within(kind) as trips:
        short, long = links.by_size(trips, [1, 2**22], samples=2, seconds=0.001)
    assert (short.unit, len(long.samples)) == ("s", 2)


@pytest.mark.skipif(cores() < 2, reason="takes two cores")
def test_core_to_core_is_no_start_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock starts when a first message has been answered, and stops after all others."""
    seen: list[object] = []
    push, clock = core_to_core.push, time.perf_counter
    pushes = lambda *given: seen.append(given[-2:]) or push(*given)
    monkeypatch.setattr(core_to_core, "push", pushes)
    monkeypatch.setattr(core_to_core, "time", SimpleNamespace(perf_counter=lambda: seen.append("clock") or clock()))
    begin = clock()
    assert core_to_core.trips(0, 5) <= clock() - begin
    assert seen == [(1, 1), "clock", (2, 6), "clock"]


@pytest.mark.skipif(cores() < 2, reason="takes two cores")
def test_core_to_core_is_half_of_there_and_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_to_core, "trips", lambda size, rounds: 2e-7 * rounds)
    measured = links.flag_to_core()
    assert (measured.median, measured.unit) == (pytest.approx(1e-7), "s")
    assert measured.calls_per_sample == 50_000  # as many as fill a sample's time


def test_bandwidth_is_that_of_one_message() -> None:
    assert links.bandwidth(lambda size, rounds: rounds * size / 1e9, 2**24) == pytest.approx(1e9)


def test_a_sample_has_as_many_messages_as_fill_its_time() -> None:
    trips = lambda size, rounds: 1e-6 * rounds
    (measured,) = links.by_size(trips, [1], samples=2, seconds=0.002)
    assert measured.calls_per_sample == 2000
    assert measured.median == pytest.approx(1e-6)


def test_one_core_cannot_send_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "cores", lambda: 1)
    with pytest.raises(Unknown, match="takes two cores"), links.within("memory"):
        pass


def test_without_namespaces_the_probe_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> None:
        raise links.network.Unavailable("this system makes no network namespaces: Operation not permitted")

    monkeypatch.setattr(links.network, "Network", refuses)
    with pytest.raises(Unknown, match=r"^this system makes no network namespaces: Operation not permitted$"):
        links.over_ten_gigabit()


def test_a_round_trip_is_part_of_the_time_that_its_probe_took() -> None:
    start = time.perf_counter()
    m = links.round_trip()
    assert m.unit == "s"
    assert sum(m.samples) * m.calls_per_sample <= time.perf_counter() - start


def test_iperf3_that_fails_at_a_host_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> str:
        raise Unknown("iperf3: address in use")

    monkeypatch.setattr(reference_tools, "iperf3_server", fails)
    answer = reference_tools._iperf3_end(1, 10)
    assert answer == "iperf3: address in use"
    link = SimpleNamespace(run=lambda fn, amount: [1e8, answer])
    monkeypatch.setattr(reference_tools.shutil, "which", lambda _: "/usr/bin/iperf3")
    with pytest.raises(Unknown, match="host 1: iperf3: address in use"):
        reference_tools.iperf3_over(link, 10)  # type: ignore[arg-type]


def test_without_iperf3_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reference_tools.shutil, "which", lambda _: None)
    with pytest.raises(Unknown, match="iperf3 is not installed"):
        reference_tools.iperf3(10)


def test_a_tool_that_does_not_end_is_unknown() -> None:
    with pytest.raises(Unknown, match=r"did not end in 0\.1 s"):
        reference_tools.output(["sleep", "1000"], timeout=0.1)


def test_iperf3_says_what_was_received_or_why_not() -> None:
    said = {"end": {"sum_sent": {"bits_per_second": 9e8}, "sum_received": {"bits_per_second": 8e8}}}
    assert reference_tools.iperf3_received(json.dumps(said)) == 1e8
    with pytest.raises(Unknown, match="unable to connect to server"):
        reference_tools.iperf3_received(json.dumps({"end": {}, "error": "unable to connect to server"}))


def test_a_way_within_a_machine_that_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="pigeon"), links.within("pigeon"):
        pass
