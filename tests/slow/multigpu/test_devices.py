"""Eight devices: sums that are the same everywhere to the last bit, gradients that are one device's, bytes that count.

They are hosts where the system has network namespaces, else processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from dlperf import network
from dlperf.alpha_beta import Line
from dlperf.multigpu import correctness, lenet, reduce, reduce_costs, road, traffic
from dlperf.multigpu.datasets import digits
from dlperf.multigpu.declared import Declared, declared_seconds
from dlperf.multigpu.group import Crew, hosts
from dlperf.multigpu.link import in_succession, measure_link
from dlperf.multigpu.road import Exchange
from dlperf.network import GIGABIT
from tests.multigpu.summing import (
    HEADERS,
    SEGMENT,
    Sent,
    acknowledge_each_frame,
    errors_with_batch_norm,
    sent,
    sum_while_cut,
    sums,
    weights_after,
)
from tests.processes import DEADLINE_S, wait_until


@pytest.fixture(scope="module")
def eight() -> Iterator[Crew]:
    with hosts(8) as crew:
        yield crew


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("algorithm", reduce.ALGORITHMS)
def test_all_devices_hold_the_same_sum(eight: Crew, algorithm: str, k: int) -> None:
    for n in (1, 7, 1000):  # fewer numbers than devices, and numbers that k does not divide
        found = eight.first(k).run(sums, algorithm, k, n)
        right = torch.stack([torch.arange(n) * 0.1 + rank for rank in range(k)]).sum(0)
        for each in found:
            assert torch.equal(each, found[0])
        torch.testing.assert_close(found[0], right)


def test_the_gradient_is_that_of_one_device(eight: Crew) -> None:
    found = correctness.compare(eight, eight)
    assert len(found["float64-by-k"]) == 8
    assert found["float64"] < 1e-12
    assert found["float32"] < 1e-6
    assert found["right-sgd"] < 1e-12
    assert found["right-adam"] < 1e-9


@pytest.mark.parametrize("batch", correctness.BATCHES)
def test_with_batch_norm_frozen_it_is_the_same_training_on_any_number_of_devices(eight: Crew, batch: int) -> None:
    cases = [(k, batch) for k in range(1, 9)]
    found = eight.run(errors_with_batch_norm, True, cases)
    assert [len(errors) for errors in found] == list(range(8, 0, -1))
    for rank, errors in enumerate(found):
        for (k, _), (gradient, weights) in errors.items():
            assert gradient < 1e-12, (rank, k)
            assert weights < 1e-12, (rank, k)


def test_with_batch_norm_live_it_is_another_training(eight: Crew) -> None:
    found = eight.run(errors_with_batch_norm, False, [(k, 16) for k in range(1, 9)])
    for rank, errors in enumerate(found):
        for (k, _), (gradient, weights) in errors.items():
            assert (gradient > 1e-3) == (weights > 1e-3) == (k > 1), (rank, k)


def test_weights_after_steps_are_those_of_one_device(eight: Crew) -> None:
    cases: list[correctness.Case] = [
        ("right", optimizer, k, batch, correctness.STEPS, torch.float64, False)
        for optimizer in ("sgd", "adam")
        for k in range(3, 9)
        for batch in correctness.BATCHES
    ]
    for errors in eight.run(correctness.errors, cases, reduce.through_one):
        for case, (_, weights) in errors.items():
            assert weights < (1e-12 if case[1] == "sgd" else 1e-9), case


def test_each_bug_is_found_by_looking_at_the_right_thing(eight: Crew) -> None:
    found = correctness.compare(eight, eight, most=2)
    assert found["means-first"] > 1e-3  # 13 examples on two devices
    assert found["copy-first"] < 1e-12
    assert found["copy-other"] > 0.1
    assert found["scale-sgd"] > 100 * found["scale-adam"]
    assert found["norm"] > 1e-3


@pytest.mark.parametrize("algorithm", reduce.ALGORITHMS)
@pytest.mark.parametrize("k", [2, 8])
def test_hosts_send_what_the_formula_says(eight: Crew, algorithm: str, k: int) -> None:
    if eight.kind != "host":
        pytest.skip(f"only hosts count what they send; these devices are of the kind {eight.kind!r}")
    check_bytes(eight.first(k), algorithm, k, 2**20)


@pytest.mark.skipif(bool(network.unavailable()), reason="there can be no network namespaces here")
@pytest.mark.parametrize("algorithm", reduce.ALGORITHMS)
def test_acknowledgements_do_not_count(algorithm: str) -> None:
    with hosts(2) as pair:
        pair.run(acknowledge_each_frame)
        check_bytes(pair, algorithm, 2, 2**20)


def test_frames_without_a_payload_and_what_is_sent_again_are_told_apart() -> None:
    payload = int(reduce_costs.bytes_sent("ring", 8, 2**20))
    data = -(-payload // SEGMENT)
    found = Sent(payload + HEADERS * (data + data // 2), data + data // 2, 0)  # one acknowledgement for two frames
    assert found.bytes > 1.02 * traffic.on_wire(payload)  # by its bytes alone the formula would seem wrong
    check_payload("ring", 8, 2**20, [found] * 8)
    check_payload("ring", 8, 2**20, [Sent(found.bytes + 100 * (SEGMENT + HEADERS), found.frames + 100, 100)] * 8)
    with pytest.raises(AssertionError):
        check_payload("ring", 8, 2**20, [Sent(found.bytes + 100 * (SEGMENT + HEADERS), found.frames + 100, 0)] * 8)
    with pytest.raises(AssertionError):
        check_payload("ring", 8, 2**20, [Sent(found.bytes - 100 * SEGMENT, found.frames, 0)] * 8)


def check_bytes(crew: Crew, algorithm: str, k: int, nbytes: int) -> None:
    """Holds what an all-reduce counts against the formula, and against what left the hosts."""
    before = crew.run(sent)
    answers = crew.run(reduce_costs.all_reduce, algorithm, k, nbytes, True)
    found = [now.since(then) for now, then in zip(crew.run(sent), before, strict=True)]
    check_payload(algorithm, k, nbytes, found)
    for (_, counted), each in zip(answers, found, strict=True):
        assert 0 <= each.bytes - counted <= each.beside + 0.01 * nbytes  # not counted: what comes late


def check_payload(algorithm: str, k: int, nbytes: int, found: list[Sent]) -> None:
    """Holds the bytes that each rank has sent against the formula, without those that a busy machine adds."""
    for rank, each in enumerate(found):
        predicted = reduce_costs.bytes_sent(algorithm, k, nbytes, rank)
        assert each.payload <= 1.01 * predicted, (rank, each)
        assert each.payload + SEGMENT * each.again >= 0.99 * predicted, (rank, each)


@pytest.mark.skipif(bool(network.unavailable()), reason="there can be no network namespaces here")
def test_what_a_cut_link_loses_is_sent_again_and_counted_beside(tmp_path: Path) -> None:
    k, nbytes = 4, 2**18
    with network.Network(k) as switch, ThreadPoolExecutor(1) as pool:
        switch.run(network.process_group, k, timeout=DEADLINE_S)
        answers = pool.submit(switch.run, sum_while_cut, k, nbytes, tmp_path, timeout=DEADLINE_S)
        assert wait_until((tmp_path / "ready").exists)
        with switch.severed(1):
            (tmp_path / "cut").touch()
            assert wait_until((tmp_path / "lost").exists)
        found = answers.result()
    assert sum(each.again for each in found) * SEGMENT > 0.02 * nbytes  # with it the formula would seem wrong
    check_payload("ring", k, nbytes, found)


def test_no_link_is_faster_than_its_limit(eight: Crew) -> None:
    if eight.kind != "host":
        pytest.skip("nothing limits a link here")
    taken = [seconds for seconds, _ in eight.first(2).run(reduce_costs.all_reduce, "ring", 2, 2**23)]
    assert max(taken) > 0.9 * 2**23 / GIGABIT  # what a full bucket passes at once is less than a tenth
    link = measure_link(eight)
    assert link.alpha >= 0
    assert link.beta > 0
    assert len(in_succession(eight, repeats=2).samples) == 2


@pytest.mark.parametrize("exchange", [*Exchange][1:])
def test_a_traced_step_sends_every_gradient_once(eight: Crew, exchange: Exchange) -> None:
    traces = eight.first(2).run(road.traced_step, exchange, 2, 4)
    for trace in traces:
        assert trace.begin < trace.forward_end < trace.backward_end <= trace.update < trace.end
        expected = 0 if exchange is Exchange.APART else sum(trace.gradient_bytes)
        assert sum(trace.message_bytes) == expected
    assert traces[0].message_bytes == traces[1].message_bytes  # the same messages, in the same order


def test_every_exchange_takes_the_same_step_on_both_devices(eight: Crew) -> None:
    after = {exchange: eight.first(2).run(weights_after, exchange, 2) for exchange in [*Exchange][1:]}
    for exchange, (one, other) in after.items():
        assert torch.equal(one, other) == (exchange is not Exchange.APART)
        if exchange is not Exchange.APART:
            torch.testing.assert_close(one, after[Exchange.FIRST][0], rtol=1e-4, atol=1e-5)


def test_lenet_trains_to_the_same_weights_on_any_number_of_devices(eight: Crew) -> None:
    """In float64, whose rounding no ReLU notices so soon; of 100 examples, batches of 64 leave a short one."""
    found = lenet.compare(eight, (1, 2, 4), digits(100), Line(1e-3, 1e-8), epochs=1)
    assert found["float64-1"] == 0
    assert 0 < found["float64-2"] < 1e-12
    assert 0 < found["float64-4"] < 1e-12
    assert found["sending-2"] == pytest.approx(2 * 2 * (1e-3 + 1e-8 * 516_272 / 2))
    assert 0 < found["accuracy-4"] <= 1


def test_a_declared_step_takes_at_least_its_waits(eight: Crew) -> None:
    step = Declared(0.05, 0.1, (4096, 4096))
    for k in (1, 8):
        assert min(eight.first(k).run(declared_seconds, step, k)) >= 0.15


def test_a_link_that_cannot_be_told_has_a_line_all_the_same(monkeypatch: pytest.MonkeyPatch, eight: Crew) -> None:
    monkeypatch.setattr("dlperf.multigpu.link._there_and_back", lambda crew, size: 1.0 / (1 + size))
    assert isinstance(measure_link(eight, repeats=1), Line)
