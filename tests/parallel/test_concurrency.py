"""Two devices, and one operator on the whole device: the instruments of *Automatic parallelism*."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import NamedTuple

import pytest
import torch

from dlperf.asynchrony.engine import Engine
from dlperf.compilers import cuda_graphs
from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.parallel import concurrency, saturation
from dlperf.parallel.concurrency import Load
from dlperf.workers import START_DELAY_S


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [
        (["cpu"], ["cpu:0", "cpu:1"]),
        (["cuda:0"], ["cuda:0", "cpu"]),
        (["cuda:0", "cuda:1", "cuda:2"], ["cuda:0", "cuda:1"]),
    ],
)
def test_the_two_devices_of_any_machine(monkeypatch: pytest.MonkeyPatch, gpus: list[str], expected: list[str]) -> None:
    monkeypatch.setattr(concurrency, "try_all_gpus", lambda: [torch.device(gpu) for gpu in gpus])
    assert concurrency.two_devices() == expected


def test_loads_run_on_their_devices_and_make_what_pytorch_makes() -> None:
    with Engine(["cpu:0", "cpu:1"]) as engine:
        x = torch.randn(8, 8)
        todo = [Load(engine.array(x, device), number) for device, number in (("cpu:0", 3), ("cpu:1", 2))]
        seconds, ops = concurrency.run(engine, todo)
        assert [op.device for op in ops] == ["cpu:0"] * 3 + ["cpu:1"] * 2
        assert concurrency.busy(ops, "cpu:0") < seconds
        torch.testing.assert_close(torch.from_numpy(todo[0].enqueue().asnumpy()), x @ x)


def test_like_devices_get_like_loads() -> None:
    with Engine(["cpu:0", "cpu:1"]) as engine:
        first, second = concurrency.loads(engine, 0.001)
    assert first.number == second.number
    assert (first.x.device, second.x.device) == ("cpu:0", "cpu:1")


def test_loads_are_measured_alone_and_together_in_units_and_shares() -> None:
    with Engine(["cpu:0", "cpu:1"]) as engine:
        todo = [Load(engine.array(torch.randn(64, 64), device), 3) for device in engine.devices]
        found = concurrency.alone_and_together(engine, todo, repeats=3)
    assert {k: (m.unit, len(m.samples)) for k, m in found.items()} == {
        **dict.fromkeys(("cpu:0", "cpu:1", "together"), ("s", 3)),
        **dict.fromkeys(("ideal", "stretch", "rest", "rest alone"), ("1", 3)),
    }


class Span(NamedTuple):
    device: str
    start: float
    end: float


def test_what_keeps_two_devices_apart_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Alone a takes 4 s, at work for 3, and b 2 s; together 6 s, with a at work for 4.5 and b for 2."""
    alone = {"a": (4.0, [Span("a", 0.5, 3.5)]), "b": (2.0, [Span("b", 0, 2)])}
    together = (6.0, [Span("b", 0, 2), Span("a", 0.5, 5)])
    monkeypatch.setattr(
        concurrency, "run", lambda engine, todo: together if len(todo) == 2 else alone[todo[0].x.device]
    )
    todo = [Load(SimpleNamespace(device=device), 1) for device in ("a", "b")]
    found = concurrency.alone_and_together(None, todo, repeats=1)
    assert {name: m.median for name, m in found.items()} == pytest.approx(
        {"a": 4, "b": 2, "together": 6, "ideal": 4 / 6, "stretch": 1.5, "rest": 1 - 4.5 / 6} | {"rest alone": 1 - 3 / 4}
    )


def test_products_and_batched_agree() -> None:
    a, one_by_one = saturation.batch(8, 5)
    batched = torch.empty_like(a)
    saturation.products(a, one_by_one, rounds=2)
    saturation.batched(a, batched)
    torch.testing.assert_close(one_by_one, batched)
    torch.testing.assert_close(one_by_one, torch.stack([x @ x for x in a]))


@pytest.mark.parametrize("n", [16, 100, 1024, 4096])
@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_workers_get_equal_shares(n: int, workers: int) -> None:
    number, rounds = saturation.amount(n, workers, 0.01)
    assert number % workers == 0
    assert number == workers or 8 * n * n * number <= saturation.BYTES
    one = number * (2 * n**3 / 6e10 + 2e-6)  # the seconds of a round, at the rate that is assumed
    assert abs(rounds * one - 0.01) <= one / 2 or (rounds == 1 and one > 0.01)


def test_a_crew_begins_together_and_shares_products_out(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(saturation, "products", lambda a, out, rounds: asked.append((tuple(a.shape), rounds)))
    crew = saturation.workers(2)
    monkeypatch.setattr(crew, "run", lambda fn, *args: [fn(rank, *args) for rank in range(2)])
    start = time.perf_counter()
    seconds = crew.products(4, 6, 2)
    assert 0 <= seconds <= time.perf_counter() - start - START_DELAY_S
    assert asked == [((3, 4, 4), 2)] * 2


def test_the_five_ways_are_measured_and_threads_are_as_before() -> None:
    before = torch.get_num_threads()
    with saturation.workers(2) as crew:
        found = saturation.against_workers(crew, 16, repeats=3, seconds=0.0005)
    assert {name: len(m.samples) for name, m in found.items()} == dict.fromkeys(
        ("in turn", "batched", "alone", "batched alone", "workers"), 3
    )
    assert len(saturation.split_cost(2, repeats=3, calls=2).samples) == 3
    assert torch.get_num_threads() == before


def test_splitting_costs_what_is_left_of_each_round() -> None:
    split, alone = (
        Measurement(seconds, "s", environment=environment("cpu"), pairing_id="1")
        for seconds in ((5e-6, 4e-6, 1e-6), (6e-6, 4e-6, 4e-6))
    )
    assert saturation.splitting(split, alone, 2).samples == pytest.approx((2e-6, 2e-6, -1e-6))


def test_the_gain_is_the_ratio_of_both_times() -> None:
    split, alone, workers = 3e-6, 40e-6, 4
    assert saturation.gain(split, alone, workers) == pytest.approx((split + alone / workers) / (alone / workers))
    assert saturation.gain(-split * 99, alone, workers) == 1  # noise: else a curve would have no logarithm


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        ([4, 2, 1], 10 ** (1 + 0.5)),  # 2 at 10, 1 at 100: halfway between on logarithmic axes
        ([1, 1, 1], 1),
        ([4, 3, 2], 100),
        ([1, 4, 1], 10**1.75),
        ([4, 1, 4, 1], 10**2.75),  # what is noise in between is passed over: from there on it stays below
        ([2, 1, 2], 100),  # it never stays below
    ],
)
def test_where_a_curve_stays_below(ratios: list[float], expected: float) -> None:
    assert saturation.stays_below(2**0.5, [1, 10, 100, 1000][: len(ratios)], ratios) == pytest.approx(expected)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="streams need a GPU")
def test_streams_of_a_gpu_are_measured() -> None:
    found = saturation.against_streams("cuda", 64, cuda_graphs.capture, repeats=3)
    assert found.keys() == {"in turn", "streams", "batched"}
