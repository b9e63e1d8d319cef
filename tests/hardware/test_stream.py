"""Bandwidth: the triad against NumPy, and what mbw and perf print."""

import time

import numpy as np
import pytest

from dlperf.hardware import reference_tools, stream
from dlperf.hardware.probe import Unknown

MBW = """\
0	Method: MEMCPY	Elapsed: 0.00841	MiB: 64.00000	Copy: 7609.988 MiB/s
1	Method: MEMCPY	Elapsed: 0.00820	MiB: 64.00000	Copy: 7800.000 MiB/s
0	Method: DUMB	Elapsed: 0.00827	MiB: 64.00000	Copy: 7741.623 MiB/s
1	Method: DUMB	Elapsed: 0.00827	MiB: 64.00000	Copy: 7741.623 MiB/s
"""


def test_the_triad_agrees_with_numpy():
    a, b, c = np.random.default_rng(0).random((3, 100))
    stream.triad(a, b, c, 3.0)
    np.testing.assert_allclose(a, b + 3.0 * c)


def test_arrays_are_longer_than_the_caches(monkeypatch):
    monkeypatch.setattr(stream, "memory_bytes", lambda: 2**36)
    monkeypatch.setattr(stream, "cache_bytes", lambda: 32 * 2**20)
    assert stream.elements() * 8 == 128 * 2**20
    monkeypatch.setattr(stream, "memory_bytes", lambda: 2**30)
    assert stream.elements() * 8 == 2**25  # a thirty-second: three of them fit


def test_arrays_that_the_caches_may_hold_are_refused(monkeypatch):
    monkeypatch.setattr(stream, "memory_bytes", lambda: 2**40)
    monkeypatch.setattr(stream, "cache_bytes", lambda: 768 * 2**20)
    with pytest.raises(Unknown, match="768 MiB"):
        stream.elements()


def test_bandwidth_counts_three_arrays(monkeypatch):
    monkeypatch.setattr(stream, "elements", lambda: 3000)
    monkeypatch.setattr(stream.threads, "at_once", lambda loops: [loop() for loop in loops] and 1e-6)
    assert stream.bandwidth(3, repeats=2).samples == pytest.approx((24 * 3000 / 1e-6,) * 2)


def test_one_core_is_not_all_cores(monkeypatch):
    monkeypatch.setattr(stream, "cores", lambda: 1)
    with pytest.raises(Unknown, match="one core"):
        stream.all_cores()


def test_mbw_is_read_by_what_it_does_and_not_by_what_it_prints():
    rates = reference_tools.parse_mbw(MBW)
    assert rates == {"loop": [7609.988 * 2**20, 7800 * 2**20], "memcpy": [7741.623 * 2**20] * 2}


def test_perf_s_count_is_divided_among_the_calls(monkeypatch):
    calls = []

    def perf(_):
        while len(calls) < 5:
            time.sleep(0.001)
        return "1000,,L1-dcache-load-misses,500000,100.00,,\n"

    monkeypatch.setattr(reference_tools, "output", perf)
    counted = reference_tools.counted("L1-dcache-load-misses", lambda: calls.append(time.sleep(0.001)))
    assert counted == 1000 / len(calls)


def test_perf_counts_or_refuses():
    counted = "123456,,L1-dcache-load-misses,500000,100.00,,\n"
    assert reference_tools.parse_perf(counted, "L1-dcache-load-misses") == 123456
    refused = "<not supported>,,L1-dcache-load-misses,0,100.00,,\n"
    with pytest.raises(Unknown, match="does not count"):
        reference_tools.parse_perf(refused, "L1-dcache-load-misses")
