"""The experiments of *Asynchronous computation*: same results however they wait, instruments that see what happens."""

from __future__ import annotations

import dataclasses
import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from io import BytesIO
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader

from dlperf.asynchrony import backlog, blocking, costs, data_loading, implicit_sync, meanwhile, streams
from dlperf.asynchrony.costs import Costs, Loop
from dlperf.asynchrony.engine import Engine
from dlperf.measurement import Measurement
from dlperf.turns import InterleavedSamples
from tests.processes import DEADLINE_S, wait_until


def simulated(costs: Costs, n: int) -> float:
    """Returns when the last of ``n`` calls is heard of, following each call through both sides."""
    enqueued = executed = 0.0
    for _ in range(n):
        enqueued += costs.enqueue
        executed = max(enqueued, executed) + costs.execute
    return executed + costs.hear


@pytest.mark.parametrize("costs", [Costs(1, 5, 2), Costs(5, 1, 2), Costs(3, 3, 0)])
@pytest.mark.parametrize("n", [1, 2, 100])
def test_the_model_is_what_following_every_call_gives(costs: Costs, n: int) -> None:
    assert costs.asynchronous(n) == simulated(costs, n)
    assert costs.synchronous(n) == n * simulated(costs, 1)
    assert costs.asynchronous(n) <= costs.serial(n)


@pytest.mark.parametrize("costs", [Costs(1, 2, 1), Costs(2, 1, 1)])
def test_overlap_and_none_are_told_apart_where_one_side_takes_half_as_long(costs: Costs) -> None:
    """As with both loops of the chapter; with a front end that hardly takes anything the two models agree."""
    assert costs.asynchronous(1000) / costs.serial(1000) == pytest.approx(2 / 3, rel=0.01)
    assert Costs(0.06, 2, 1).asynchronous(1000) / Costs(0.06, 2, 1).serial(1000) > 0.95


@pytest.mark.parametrize("front", [0, 8])
def test_a_loop_computes_the_same_however_it_waits(front: int) -> None:
    with Engine(["cpu"]) as engine:
        call, x = Loop(engine, front, 6).calls()
        costs.repeat(call, 3)
        expected = torch.ones(6).sin().sin().sin()
        assert torch.equal(torch.from_numpy(x.asnumpy()), expected)


def test_the_gate_keeps_work_out_of_the_first_clock() -> None:
    with Engine(["cpu"]) as engine:
        loop = Loop(engine, 0, 1)
        loop.behind_a_gate(50)
        gate, *ops = [op for op in engine.history if op.device == "cpu"]
        assert len(ops) == 50
        assert all(op.enqueued < gate.end <= op.start for op in ops)


def test_parts_and_ratios_have_a_sample_for_each_trial() -> None:
    with Engine(["cpu"]) as engine:
        found = costs.hold_against({"a": Loop(engine, 0, 1)}, n=20, repeats=2)["a"]
    assert {k: (len(m.samples), m.unit) for k, m in found.items()} == {
        k: (2, "1" if " " in k else "s")
        for k in (
            *("enqueue", "execute", "hear", "asynchronous", "synchronous"),
            *("asynchronous fit", "serial fit", "synchronous fit"),
        )
    }


def test_undisturbed_sets_every_thread_and_restores_this_one() -> None:
    threads, cores = torch.get_num_threads(), os.sched_getaffinity(0)
    with Engine(["cpu:0", "cpu:1"]) as engine, costs.undisturbed(engine):
        assert not gc.isenabled()
        assert torch.get_num_threads() == 1
        for device in engine.devices:
            assert engine.call(lambda: torch.tensor(torch.get_num_threads()), device=device).item() == 1
    assert gc.isenabled()
    assert torch.get_num_threads() == threads
    assert os.sched_getaffinity(0) == cores


@pytest.mark.parametrize(("seconds", "numbers"), [(1e-3, 1_000_000), (1e-6, 1000), (1e-12, 1)])
def test_length_counts_numbers(monkeypatch: pytest.MonkeyPatch, seconds: float, numbers: int) -> None:
    """On a machine that takes a nanosecond for each number; one that takes no time at all is still one."""
    monkeypatch.setattr(costs, "measure", lambda fn, **_: Measurement((1e-9 * fn.args[0].numel(),)))
    assert costs.length(seconds) == pytest.approx(numbers, rel=1e-3)


def test_blockers_return_before_they_finish() -> None:
    with Engine(["cpu"]) as engine:
        found = blocking.returned_and_finished(blocking.blockers(engine, 64), repeats=2)
    assert len(found) == 5
    assert all(a < b for early, late in found.values() for a, b in zip(early.samples, late.samples, strict=True))


def test_clocked_sees_both_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    now, waited = [10.0], []

    def passes(seconds: float) -> float:
        now[0] += seconds
        return seconds

    monkeypatch.setattr(blocking, "perf_counter", lambda: now[0])
    program = blocking.clocked(lambda: passes(0.5), lambda result: waited.append((result, passes(2))))
    assert program() == (0.5, 2.5)
    assert waited == [(0.5, 2)]


def test_the_hidden_wait_changes_no_sum() -> None:
    with Engine(["cpu"]) as engine:
        means = [implicit_sync.epoch(engine, 3, 5, 16, hidden=reads) for reads in (True, False)]
        items = [op for op in engine.history if op.name == "item"]
    assert means[0] == pytest.approx(means[1], rel=1e-5)
    assert len(items) == 5 + 1


def test_an_epoch_returns_the_mean_loss_of_a_perceptron() -> None:
    generator, n = torch.Generator().manual_seed(0), 16
    drawn = [torch.randn(6, n, n, generator=generator).mean(0) for _ in range(4)]
    losses = [(x.mean(1, keepdim=True).expand(n, n)).relu().mean() for x in drawn]
    with Engine(["cpu"]) as engine:
        assert implicit_sync.epoch(engine, 2, 4, n, hidden=True) == pytest.approx(float(sum(losses) / 4), rel=1e-5)


def test_both_versions_are_held_against_their_sides() -> None:
    with Engine(["cpu"]) as engine:
        found = implicit_sync.hold_against(engine, 1, batches=2, repeats=2)
    assert {k: (len(m.samples), m.unit) for k, m in found.items()} == {
        **dict.fromkeys(("drawing", "working", "hidden", "open"), (2, "s")),
        **dict.fromkeys(("predicted factor", "hidden fit", "open fit"), (2, "1")),
        **dict.fromkeys(("drawing beside", "working beside"), (2, "1")),
    }


@pytest.mark.parametrize(("drawing", "layers"), [(1.0, 18), (0.3, 4), (1e-6, 1)])
def test_balanced_finds_the_layers_that_take_as_long_as_drawing(
    monkeypatch: pytest.MonkeyPatch, drawing: float, layers: int
) -> None:
    """Where a layer takes 0.05 s, and what comes before them 0.1 s; no layer at all is no work."""
    monkeypatch.setattr(implicit_sync, "LONGEST", 10.0)
    monkeypatch.setattr(implicit_sync, "sides", lambda engine, layers, n: (drawing, 0.1 + 0.05 * layers, 0.0))
    assert implicit_sync.balanced(None) == layers


class Slow:
    """An engine on a clock of its own, on which to draw takes ``drawing`` seconds, a layer 0.01 s, and a wait 0.002."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, drawing: float) -> None:
        self.now, self.drawing, self.history = 0.0, drawing, list[SimpleNamespace]()
        monkeypatch.setattr(implicit_sync, "perf_counter", lambda: self.now)
        monkeypatch.setattr(implicit_sync, "work", lambda layers: layers)
        monkeypatch.setattr(implicit_sync, "draw", lambda *_: self.passes(self.drawing))

    def passes(self, seconds: float) -> None:
        self.now += seconds

    def array(self, tensor: torch.Tensor) -> torch.Tensor:
        return tensor

    def call(self, fn: object, *_: object, name: str) -> None:
        begin = self.now
        self.passes(0.01 * fn if isinstance(fn, int) else 0.001)
        self.history.append(SimpleNamespace(name=name, start=begin, end=self.now))

    def waitall(self) -> None:
        self.passes(0.002)


def test_a_wait_is_clocked_beyond_what_it_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert implicit_sync.sides(Slow(monkeypatch, 0.03), 4, 8) == pytest.approx((0.03, 0.04, 0.002))


@pytest.mark.parametrize(("drawing", "layers"), [(0.03, 3), (300.0, 5)])
def test_a_pause_does_not_make_many_layers(monkeypatch: pytest.MonkeyPatch, drawing: float, layers: int) -> None:
    """Where each draw seems to take five minutes, the work is that of `LONGEST`."""
    assert implicit_sync.balanced(Slow(monkeypatch, drawing), 8) == layers


def test_the_front_end_is_at_work_between_its_calls_and_not_in_them() -> None:
    """An operation is enqueued at 1 s and runs elsewhere until 8 s; a wait lasts from 3 s to 5 s."""
    told = [("cpu", 1, 8), (implicit_sync.FRONT_END, 3, 5), ("cpu", 5.5, 9), ("cpu", 7, 10)]
    operations = [SimpleNamespace(device=device, enqueued=enqueued, end=end) for device, enqueued, end in told]
    assert implicit_sync.at_work(operations, shortest=1) == [(1, 3), (5.5, 7)]  # type: ignore[arg-type]


def test_branches_give_the_same_on_one_device_and_on_two() -> None:
    with Engine(["cpu:0", "cpu:1"]) as engine:
        for second in engine.devices:
            torch.manual_seed(0)
            z = blocking.branches(engine, second, 8)()
            torch.manual_seed(0)
            x, y = torch.rand(8, 8), torch.rand(8, 8)
            assert torch.allclose(torch.from_numpy(z.asnumpy()), x @ x @ x + y @ y @ y)


def test_work_that_is_left_over_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """What an engine does only while this thread rests, until it has done it."""

    def spin() -> None:
        end = time.thread_time() + 0.03
        while time.thread_time() < end:
            pass

    during, after = blocking.left_over(spin, rest=0.01)
    assert during >= 0.03
    resting = threading.Event()
    with Engine(["cpu"]) as engine:
        monkeypatch.setattr(blocking, "sleep", lambda seconds: (resting.set(), engine.waitall()))
        calls = lambda: engine.enqueue(lambda: (resting.wait(DEADLINE_S), spin())).queue
        during, after = blocking.left_over(calls, rest=1)
    assert after >= 0.03


def test_a_call_is_clocked_while_the_back_end_does_something_else() -> None:
    with Engine(["cpu"]) as engine:
        call, _ = Loop(engine, 0, 1).calls()
        assert meanwhile.beside(engine, threading.Event.wait, call, 5) > 0
        other, *calls = [op for op in engine.history if op.device == "cpu"]
        found = meanwhile.enqueueing(engine, n=20, repeats=2)
    assert other.name == "meanwhile"
    assert len(calls) == 5
    assert all(other.start < op.enqueued < other.end <= op.start for op in calls)
    assert {name: (len(m.samples), m.unit) for name, m in found.items()} == dict.fromkeys(
        ("held", "computing", "python", "process"), (2, "s")
    )


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="needs a system that tells a thread's cores")
def test_a_process_runs_python_where_the_back_end_would_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    with Engine(["cpu"]) as engine:
        assert set(meanwhile.cores_of(engine)) == os.sched_getaffinity(0)
    [core, *_], begin, made = os.sched_getaffinity(0), subprocess.Popen, []
    monkeypatch.setattr(subprocess, "Popen", lambda *args, **kwargs: made.append(begin(*args, **kwargs)) or made[-1])
    where = meanwhile.beside_process([core], lambda: os.sched_getaffinity(made[0].pid))  # type: ignore[arg-type, return-value]
    assert where == {core}  # type: ignore[comparison-overlap]
    assert made[0].returncode is not None


def test_the_lock_is_asked_for_sooner_for_a_block() -> None:
    before = sys.getswitchinterval()
    with meanwhile.switching(1e-5):
        assert sys.getswitchinterval() == pytest.approx(1e-5)
    assert sys.getswitchinterval() == before


def test_work_goes_on_until_it_is_told_to_stop() -> None:
    stop, steps = threading.Event(), []
    meanwhile.until(stop, lambda: (steps.append(1), stop.set() if len(steps) == 3 else None))
    assert len(steps) == 3


def test_nothing_is_found_waiting_without_a_gpu() -> None:
    assert blocking.found_waiting("cpu") is None


def test_no_memory_is_pending_without_a_gpu() -> None:
    assert streams.reused_while_pending("cpu") is None


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_gpu_reports_item_and_not_addition() -> None:
    found = blocking.found_waiting("cuda")
    assert found is not None
    assert found["x.sum().item()"]
    assert not found["x + 1"]
    assert torch.cuda.get_sync_debug_mode() == 0


def test_a_photo_becomes_a_small_image_of_its_colours() -> None:
    """The oracle is the mean: to make a photo small keeps it."""
    data = data_loading.Photos(3, side=64)
    image, label = data[2]
    assert (len(data), image.shape, image.dtype, label.item()) == (3, (3, 32, 32), torch.float32, 2)
    file = Image.open(BytesIO(data_loading.photo(64)))
    assert file.size == (64, 64)
    assert image.mean((1, 2)).tolist() == pytest.approx(np.asarray(file).mean((0, 1)) / 255, abs=0.01)


def test_a_mini_batch_that_is_fetched_takes_its_latency_once() -> None:
    data = data_loading.Fetched(4, latency=0.05)
    start = time.monotonic()
    images, classes = next(iter(DataLoader(data, 4)))
    taken = time.monotonic() - start
    assert taken >= 0.05  # to sleep for less is what it must not do
    assert torch.equal(images, data.images)
    assert torch.equal(classes, data.classes)


def test_the_end_of_a_loader_s_workers_is_no_item_s_doing(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that counts: a second for each item, and a thousand at the end."""
    now = [0.0]

    def loader() -> Iterator[torch.Tensor]:
        for _ in range(6):
            now[0] += 1
            yield torch.ones(1)
        now[0] += 1000

    monkeypatch.setattr(data_loading, "perf_counter", lambda: now[0])
    assert data_loading.seconds_per_item(loader(), lambda x: None) == 1


def test_what_a_worker_loaded_before_and_what_it_loads_no_more_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that counts: items take 1, 10, 10, 10 and 2 seconds."""
    now = [0.0]

    def loader() -> Iterator[int]:
        for seconds in (1, 10, 10, 10, 2):
            now[0] += seconds
            yield seconds

    monkeypatch.setattr(data_loading, "perf_counter", lambda: now[0])
    assert data_loading.seconds_per_item(loader(), lambda x: None, skip=1, last=1) == 10
    assert data_loading.seconds_per_item(loader(), lambda x: None, skip=0, most=2) == 5.5


def test_loading_times_every_side() -> None:
    """And gives the step the threads back that it had to spare."""
    threads, seen = torch.get_num_threads(), []
    torch.set_num_threads(2)
    sets = {"a": data_loading.Fetched(12, latency=0.001), "b": data_loading.Photos(12, 32)}
    step = lambda images, classes: seen.append((len(images), torch.get_num_threads()))
    found = data_loading.in_line_and_ahead(step, sets, 2, spare="b", repeats=1)
    assert torch.get_num_threads() == 2
    torch.set_num_threads(threads)
    ways = ("load", "in line", "worker")
    assert found.keys() == {"step", "b spared", *(f"{name} {way}" for name in sets for way in ways)}
    assert all(min(found[f"a {way}"].samples) >= 0.001 for way in ("load", "in line"))
    assert {size for size, _ in seen} == {2}
    assert [number for _, number in seen].count(1) == 6  # as many as there are batches
    assert all(m.pairing_id == found["step"].pairing_id for m in found.values())


def test_training_is_the_same_with_any_queue() -> None:
    """The oracle is PyTorch without an engine: the same losses in the same order, bit for bit."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as the engine's are: more add up in another order
    step, loss = backlog.training_step(backlog.perceptron(8, 1)), torch.zeros(())
    for x, y in backlog.batches(4):
        step(loss, x, y)
    torch.set_num_threads(threads)
    for depth, wait in ((1, False), (2, False), (float("inf"), False), (float("inf"), True)):
        with Engine(["cpu"], depth) as engine:
            run = backlog.train(engine, wait=wait, widths=(8, 1), number=4)
        assert run.loss == loss.item()


@pytest.mark.parametrize("depth", [1, 3])
def test_a_queue_holds_as_many_batches_as_it_is_deep_and_one_more(depth: int) -> None:
    with Engine(["cpu"], depth) as engine:
        run = backlog.train(engine, wait=False, widths=(256, 1), number=8)
    assert backlog.BATCH_BYTES <= run.live <= (depth + 1) * backlog.BATCH_BYTES + 4


def a_run(depth: float, returned: float, process: int = 0) -> backlog.Run:
    return backlog.Run(10, depth, returned, 1.0, process, 0, 0.0, ())


def test_without_a_bound_the_clocks_of_other_runs_say_what_is_left() -> None:
    """A front end ten times as fast has put in ten batches when one is done; that nine are left needs no formula."""
    clocked, sync = InterleavedSamples([a_run(backlog.UNBOUNDED, 0.1)]), InterleavedSamples([a_run(2, 1.0, 7)], "turns")
    assert backlog.ahead(clocked, 10).samples == pytest.approx((9 - 1,))
    assert backlog.ahead(clocked, 20).samples == pytest.approx((18 - 1,))
    free = backlog.predicted(clocked, sync, 10, backlog.UNBOUNDED)
    assert free.samples == pytest.approx((7 + 8 * backlog.BATCH_BYTES,))
    assert free.unit == "B"
    assert free / sync.measurement(lambda run: run.process, "B")  # taken in turn
    assert backlog.predicted(clocked, sync, 10, 2).samples == (7 + 2 * backlog.BATCH_BYTES,)


def test_memory_counted_in_batches_says_how_many_more_were_held() -> None:
    sync = InterleavedSamples([a_run(backlog.UNBOUNDED, 1.0, 7_000_000)])
    runs = InterleavedSamples([a_run(2, 0.9, 7_000_000 + 2 * backlog.BATCH_BYTES)])
    assert backlog.more_batches(runs, sync).samples == (2.0,)
    assert backlog.more_batches(sync, sync).samples == (0.0,)


def test_the_speedup_is_that_of_both_models() -> None:
    """Ten calls of 3 s behind which the back end needs 10 s each: the loop returns after 30 s of about 100 s."""
    model, n = Costs(3, 10, 0), 10
    run = dataclasses.replace(a_run(backlog.UNBOUNDED, n * model.enqueue), finished=n * model.execute)
    (predicted,) = backlog.speedup(InterleavedSamples([run])).samples
    assert predicted == pytest.approx(model.synchronous(n) / (model.asynchronous(n) - model.enqueue))


def test_the_middle_run_is_of_median_time() -> None:
    runs = [dataclasses.replace(a_run(1, 0.1), finished=seconds) for seconds in (3.0, 1.0, 2.0)]
    assert backlog.middle(runs).finished == 2.0


def test_a_batch_takes_the_bytes_it_is_said_to() -> None:
    (batch,) = backlog.batches(1)
    assert sum(x.untyped_storage().nbytes() for x in batch) == backlog.BATCH_BYTES


def test_peak_sees_memory_that_came_and_went(monkeypatch: pytest.MonkeyPatch) -> None:
    looks, occupied = [], backlog.occupied
    monkeypatch.setattr(backlog, "occupied", lambda device: looks.append(occupied(device)) or looks[-1])
    with backlog.Peak("cpu") as peak:
        block = torch.ones(2**24)
        before = len(looks)
        assert wait_until(lambda: len(looks) > before + 1)  # the first look may have begun earlier
        del block
    assert peak.bytes >= 2**26 - 2**20  # Linux counts what is resident only roughly


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_peak_sees_a_gpus_memory_that_came_and_went_however_briefly() -> None:
    with backlog.Peak("cuda") as peak:
        torch.ones(2**24, device="cuda")
    assert peak.bytes == 2**26
