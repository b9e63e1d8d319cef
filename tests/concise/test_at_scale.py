"""The model of a step past one machine: cases worked out by hand, limits, and sizes that the paper prints."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dlperf.alpha_beta import Line
from dlperf.concise import at_scale, drawings_scale, published
from dlperf.concise.at_scale import GPT, Cluster, Step

SMALL = GPT(layers=2, width=4, context=8, vocabulary=16)
ROOM = Cluster(flops=1e6, memory=1e9, between=Line(0.5, 0.01), inner=Line(0.5, 0.001), node=2)
FREE = replace(ROOM, between=Line(0, 0.01), inner=Line(0, 0.01))


def test_parameters_are_those_of_the_layers_counted_one_by_one() -> None:
    h = 4
    layer = (4 * h * h + 4 * h) + (8 * h * h + 5 * h) + 4 * h  # attention, perceptron, two normalisations
    assert SMALL.parameters == pytest.approx(2 * layer + (16 + 8) * h)


def test_flops_are_those_of_the_products_counted_one_by_one() -> None:
    s, h, sequences = 8, 4, 3
    layer = 2 * s * 12 * h * h + 2 * 2 * s * s * h  # projections and perceptron; scores and mixing
    head = 2 * s * h * 16
    assert SMALL.flops(sequences) == pytest.approx(sequences * (4 * 2 * layer + 3 * head))  # layers forward twice


def test_by_data_by_hand() -> None:
    step = at_scale.data_parallel(SMALL, ROOM, 4, sequences=12)
    assert step.compute == pytest.approx(SMALL.flops(12) / 4e6)
    assert step.beside == pytest.approx(6 * (0.5 + 2 * SMALL.parameters / 4 * 0.01))
    assert step.exposed == 0


def test_a_ring_within_a_node_takes_the_inner_link() -> None:
    step = at_scale.data_parallel(SMALL, ROOM, 2, sequences=12)
    assert step.beside == pytest.approx(2 * (0.5 + 2 * SMALL.parameters / 2 * 0.001))


def test_sharded_by_hand() -> None:
    step = at_scale.sharded(SMALL, ROOM, 4, sequences=12)
    part = SMALL.parameters * 2 / 2 / 4  # bytes of half of the layers, on one of four GPUs
    assert step.beside == pytest.approx(2 * 3 * 3 * (0.5 + part * 0.01))  # layers, exchanges, messages


def test_sharded_sends_half_as_much_again_as_by_data() -> None:
    by_data, sharded = (way(SMALL, FREE, 4, 12) for way in (at_scale.data_parallel, at_scale.sharded))
    assert sharded.beside == pytest.approx(1.5 * by_data.beside)
    assert sharded.compute == by_data.compute


def test_tensor_times_data_by_hand() -> None:
    step = at_scale.tensor_data(SMALL, ROOM, 4, sequences=12, tensor=2)
    activations = 2 * 6 * 8 * 4  # half of the sequences, 8 positions of 4 numbers, 2 bytes each
    assert step.exposed == pytest.approx(6 * 2 * 2 * (0.5 + activations / 2 * 0.001))
    assert step.beside == pytest.approx(2 * (0.5 + SMALL.parameters / 2 * 0.01))


def test_tensor_of_one_is_by_data() -> None:
    assert at_scale.tensor_data(SMALL, ROOM, 4, 12, tensor=1) == at_scale.data_parallel(SMALL, ROOM, 4, 12)


@pytest.mark.parametrize(("k", "tensor"), [(3, 2), (8, 4)])
def test_tensor_must_divide_and_fit_into_a_node(k: int, tensor: int) -> None:
    with pytest.raises(ValueError, match=f"got k={k}"):
        at_scale.tensor_data(SMALL, ROOM, k, 12, tensor)


def test_what_runs_beside_computing_hides_as_far_as_possible() -> None:
    assert Step(compute=3, exposed=1, beside=5).seconds == 5
    assert Step(compute=3, exposed=1, beside=2).seconds == 4


@pytest.mark.parametrize("way", at_scale.WAYS)
def test_more_gpus_compute_less_and_a_faster_link_never_slows(way: str) -> None:
    a100 = published.a100(1e14)
    fast = replace(a100, between=Line(0, a100.between.beta / 8))
    slow, quick = (
        [at_scale.WAYS[way](published.GPT3, each, k, 1536) for k in drawings_scale.COUNTS] for each in (a100, fast)
    )
    computing = [step.compute for step in slow]
    assert computing == sorted(computing, reverse=True)
    assert all(a.seconds >= b.seconds for a, b in zip(slow, quick, strict=True))


@pytest.mark.parametrize("way", at_scale.WAYS)
def test_at_the_bend_exchange_takes_as_long_as_computing(way: str) -> None:
    cluster = replace(FREE, node=8)
    k = 8 * round(at_scale.flat_from(SMALL, cluster, 1_000_000, way) / 8)
    assert k > 800  # else the k - 1 of k shares that travel would matter
    step = at_scale.WAYS[way](SMALL, cluster, k, 1_000_000)
    assert step.beside == pytest.approx(step.compute, rel=0.02)


def test_the_bend_by_hand_and_the_tokens_that_a_gpu_needs() -> None:
    cluster = published.a100(1e14)
    assert at_scale.flat_from(published.GPT3, cluster, 1536) == pytest.approx(
        published.GPT3.flops(1536) * 25e9 / (6 * published.GPT3.parameters * 1e14)
    )
    least = 3 * 1e14 / (4 * 25e9)  # 3f / 4B, for FLOPs of 8 P T
    wide = GPT(layers=96, width=10**6)  # neither attention nor its ends count
    assert 1536 * 2048 / at_scale.flat_from(wide, cluster, 1536) == pytest.approx(least, rel=1e-3)


def test_gpt3_does_not_fit_one_gpu_by_far() -> None:
    assert at_scale.state(published.GPT3, 1) == pytest.approx(2.79e12, rel=0.01)
    assert at_scale.state(published.GPT3, 35) < 80e9 < at_scale.state(published.GPT3, 34)
