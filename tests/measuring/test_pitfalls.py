"""The gallery: its two sides must do the same work, and its instruments must see what happens."""

import gc
import threading

import torch

from dlperf import counters
from dlperf.measuring import pitfalls


def test_clock_calls_keeps_one_time_for_every_call():
    calls = []
    times = pitfalls.clock_calls(lambda: calls.append(1), 7)
    assert len(times) == len(calls) == 7


def test_clock_calls_sees_the_whole_call_and_no_other(monkeypatch):
    now, durations = [100.0], iter((1, 4, 2))
    monkeypatch.setattr(pitfalls.time, "perf_counter", lambda: now[0])

    def call():
        now[0] += next(durations)

    assert pitfalls.clock_calls(call, 3) == [1, 4, 2]


def test_product_multiplies():
    work = pitfalls.product(8)
    a, b = (c.cell_contents for c in work.__closure__[:2])
    assert torch.allclose(work(), a @ b)


def test_first_and_warm_split_the_runs():
    first, warm = pitfalls.first_and_warm([[9, 5, 1, 1, 3], [8, 5, 2, 2, 2]], "cpu", warm_up=2)
    assert first.samples == (9, 8)
    assert warm.samples == (1, 2)


def test_queue_works_in_order_and_wait_waits_for_all():
    submit, wait = pitfalls.queue_and_wait("cpu")
    done, gate = [], threading.Event()
    for i in range(5):
        submit(lambda i=i: (gate.wait(), done.append(i)))
    assert done == []  # submitting does not do it
    gate.set()
    wait()
    assert done == [0, 1, 2, 3, 4]


def test_stopped_early_samples_the_same_calls():
    returned, finished = pitfalls.stopped_early("cpu", products=4, n=64, repeats=5)
    assert len(returned.samples) == len(finished.samples) == 5
    assert all(r < f for r, f in zip(returned.samples, finished.samples, strict=True))


def test_clock_in_turn_alternates():
    order = []
    times = pitfalls.clock_in_turn({"a": lambda: order.append("a"), "b": lambda: order.append("b")}, 3)
    assert order == ["a", "b"] * 4  # one unclocked call each, then three in turn
    assert {name: len(t) for name, t in times.items()} == {"a": 3, "b": 3}


def test_libraries_and_precisions_covers_every_combination():
    times = pitfalls.libraries_and_precisions(n=8, repeats=2)
    expected = {f"{lib}.{bits}.{do}" for lib in ("numpy", "torch") for bits in (64, 32) for do in ("draw", "multiply")}
    assert set(times) == expected | {"numpy.64.legacy"}


def test_clock_and_count_counts_the_pages_of_the_calls_that_it_clocks():
    kept = torch.ones(2**24)
    calls = {"kept": lambda: kept.add_(1), "new": lambda: torch.ones(2**24)}
    times, pages = pitfalls.clock_and_count(calls, repeats=3)
    assert {name: len(m.samples) for name, m in times.items()} == {"kept": 3, "new": 3}
    assert pages["new"] >= 16  # 64 MiB: 32 pages even of the largest common size
    # other threads of this process, and a system that moves pages about, add to the count of some calls
    assert min(pitfalls.clock_and_count(calls, repeats=1)[1]["kept"] for _ in range(12)) < 16


def test_make_garbage_marks_collections_and_removes_its_watch():
    before = list(gc.callbacks)
    times, swept = pitfalls.make_garbage(calls=200, per_call=200)
    assert len(times) == len(swept) == 200
    assert any(swept)
    assert not all(swept)
    assert gc.callbacks == before


def test_make_garbage_marks_nothing_without_a_collector():
    gc.disable()
    try:
        assert not any(pitfalls.make_garbage(calls=50, per_call=200)[1])
    finally:
        gc.enable()


def test_page_faults_sees_memory_that_is_touched_for_the_first_time():
    kept = torch.ones(2**24)
    assert min(counters.page_faults(lambda: kept.add_(1)) for _ in range(12)) < 16
    assert counters.page_faults(lambda: torch.ones(2**24)) >= 16  # 64 MiB: 32 pages even of the largest common size
