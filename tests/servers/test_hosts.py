"""What a host has had of processors: its own process, and those that run beside it."""

from __future__ import annotations

import multiprocessing
import time
from multiprocessing.synchronize import Event

import pytest

from dlperf.servers import hosts
from tests.processes import DEADLINE_S


def compute(done: Event, ends: Event) -> None:
    while time.process_time() < 0.05:
        pass
    done.set()
    ends.wait()


def test_a_hosts_own_process_is_counted() -> None:
    before = time.process_time()
    found = hosts.computed(0)
    assert before <= found <= time.process_time()


def test_a_process_beside_it_is_counted_until_it_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosts, "_processes", [])
    context = multiprocessing.get_context("fork")
    done, ends = context.Event(), context.Event()
    process = context.Process(target=compute, args=(done, ends), daemon=True)
    process.start()
    hosts._processes.append(process)
    try:
        assert done.wait(DEADLINE_S)
        own = time.process_time()
        assert hosts.computed(0) >= own + 0.05
    finally:
        hosts.stop(0)
    before = time.process_time()
    assert before <= hosts.computed(0) <= time.process_time()
