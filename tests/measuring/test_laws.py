"""The laws: their known points and limits, and the experiments that stand beside them."""

import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlperf.environment import pinnable_cores
from dlperf.measuring import laws

SHARE = st.floats(0, 1)
WORKERS = st.integers(1, 10_000)


@given(SHARE, WORKERS)
def test_amdahl_is_the_time_of_one_over_the_time_of_many(s, n):
    one, many = 1.0, s + (1 - s) / n
    assert laws.amdahl(s, n) == pytest.approx(one / many)
    assert 1 - 1e-9 <= laws.amdahl(s, n) <= n + 1e-6


def test_amdahl_tends_to_the_inverse_of_the_serial_share():
    assert laws.amdahl(0.05, 1e12) == pytest.approx(20)
    assert laws.amdahl(0, 64) == 64
    assert laws.amdahl(1, 64) == 1


def test_gustafson_gives_the_number_in_his_paper():
    # Sandia, 1988: 1024 processors, serial shares of 0.4 to 0.8 percent: scaled speedups of 1016 to 1020.
    assert laws.gustafson(0.004, 1024) == pytest.approx(1020, abs=1)
    assert laws.gustafson(0.008, 1024) == pytest.approx(1016, abs=1)


@given(SHARE, WORKERS)
def test_gustafson_is_amdahl_with_the_serial_share_of_the_grown_work(s, n):
    grown = s + (1 - s) * n
    assert laws.gustafson(s, n) == pytest.approx(laws.amdahl(s / grown, n))


@given(st.integers(1, 200), st.integers(1, 64))
def test_effective_workers_follow_the_fullest_core(n, cores):
    dealt, worth = [len(range(core, n, cores)) for core in range(cores)], [1.0] * cores
    assert laws.effective_workers(n, worth, pinned=True) == pytest.approx(n / max(dealt))
    assert laws.effective_workers(n, worth, pinned=True) <= laws.effective_workers(n, worth, pinned=False)
    assert laws.effective_workers(n, worth, pinned=False) == min(n, cores)


def test_effective_workers_wait_for_the_slowest_core():
    # Three workers, a third each: the first core does two thirds at full speed, while the half core does the other.
    assert laws.effective_workers(2, [1, 0.5], pinned=True) == pytest.approx(1)
    assert laws.effective_workers(3, [1, 0.5], pinned=True) == pytest.approx(1.5)
    assert laws.effective_workers(3, [1, 0.5], pinned=False) == pytest.approx(1.5)
    assert laws.effective_workers(1, [1, 0.5], pinned=True) == 1  # the second core is not used


@given(st.integers(1, 64))
def test_worker_counts_contain_the_cores_and_go_beyond(cores):
    counts = laws.worker_counts(cores)
    assert counts == sorted(set(counts))
    assert {1, cores, cores + 1, 2 * cores} <= set(counts)


def test_spin_is_the_generator_it_says():
    x = 1
    for _ in range(5):
        x = (1103515245 * x + 12345) % 2**31
    assert laws.spin(5) == x


def test_little_counts_requests():
    assert laws.little(rate=100, wait=0.05) == pytest.approx(5)


def test_importing_laws_in_a_worker_does_not_import_pytorch():
    code = "import sys, dlperf.measuring.laws; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not pin processes")
def test_crew_pins_each_worker_to_one_core_in_rotation():
    cores = pinnable_cores()[:2]
    with laws.Crew(3, cores=2) as crew:
        seats = [os.sched_getaffinity(process.pid) for process in crew.processes]
    assert seats == [{cores[i % len(cores)]} for i in range(3)]
    assert all(process.exitcode == 0 for process in crew.processes)


class Recorder:
    """A crew of two cores of which the second is worth half while both work, and which notes what it is told."""

    seats = 2

    def __init__(self):
        self.done = []

    def do(self, amounts):
        self.done.append(list(amounts))

    def worths(self, busy, amount):
        self.done.append((busy, amount))
        return [1.0, 0.5][:busy]


def test_scaling_gives_each_worker_its_part():
    crew = Recorder()
    found = laws.scaling(crew, [1, 4], serial=10, parallel=80, repeats=1)
    alone, four = [(1, 40), [10], [80], [10], [80]], [(2, 40), [10], [20] * 4, [10], [80] * 4]
    assert crew.done == [*alone, *four]
    assert {n: len(m.samples) for n, m in {**found.strong, **found.weak}.items()} == {1: 1, 4: 1}
    assert found.workers[4].samples == (laws.effective_workers(4, [1.0, 0.5]),)


def test_what_a_law_says_belongs_to_the_turn_in_which_the_workers_were_counted():
    found = laws.scaling(Recorder(), [1, 2], serial=10, parallel=80, repeats=3)
    expected = laws.by_turn(laws.amdahl, 0.1, found.workers[2])
    assert expected.samples == (laws.amdahl(0.1, laws.effective_workers(2, [1.0, 0.5])),) * 3
    expected.pairs(found.strong[1])  # they were taken in turn


def test_worths_set_each_busy_core_beside_the_first_alone():
    with laws.Crew(2, cores=min(2, os.cpu_count() or 1)) as crew:
        assert len(crew.worths(2, 20_000)) == 2
        assert all(each > 0 for each in crew.worths(1, 20_000))


def test_a_queue_is_seen_from_three_sides():
    """That what is seen obeys Little's law takes clocks that nobody else disturbs: see `tests/long`."""
    seen = laws.watch_queue(rate=200, service=2e-3, requests=100)
    assert seen.wait >= 2e-3  # a request stays at least as long as it is served
    assert 0 < seen.rate < 500  # one server of 2 ms cannot pass on more
    assert 0 <= seen.occupancy <= 100  # 0 where the observer's turn came only before the first request


def test_an_observer_who_gets_no_turn_before_the_end_has_looked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    over = SimpleNamespace(wait=lambda seconds: True, set=lambda: None)
    monkeypatch.setattr(laws, "threading", SimpleNamespace(Thread=threading.Thread, Event=lambda: over))
    assert 0 <= laws.watch_queue(rate=1e4, service=0.0, requests=3).occupancy <= 3
