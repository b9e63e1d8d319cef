"""The model of steps on many devices: against cases worked out by hand, limits, and what the papers print."""

from __future__ import annotations

from dataclasses import replace
from math import isclose

import pytest

from dlperf.concise import at_scale, published
from dlperf.concise.at_scale import Cluster, Step, Transformer

SMALL = Transformer(layers=2, width=4, context=8, vocabulary=16)
ROOM = Cluster(flops=1e6, memory=1e9, bandwidth=100.0, inner=1000.0, latency=0.5, node=2)


def test_parameters_are_those_of_the_layers_counted_one_by_one() -> None:
    h = 4
    layer = 4 * h * h + 4 * h + 8 * h * h + 5 * h + 4 * h  # attention, perceptron and two normalisations, with biases
    assert SMALL.parameters == pytest.approx(2 * layer + (16 + 8) * h)


def test_flops_are_those_of_the_products_counted_one_by_one() -> None:
    s, h, sequences = 8, 4, 3
    layer = 2 * s * 12 * h * h + 2 * 2 * s * s * h  # projections and perceptron; scores and mixing
    forward = sequences * 2 * layer
    head = sequences * 2 * s * h * 16
    assert SMALL.flops(sequences) == pytest.approx(4 * forward + 3 * head)  # layers are computed forward twice


def test_an_all_reduce_by_hand() -> None:
    assert at_scale.all_reduce(120, 3, latency=0.5, bandwidth=10) == pytest.approx(4 * (0.5 + 120 / 30))
    assert at_scale.all_reduce(120, 1, latency=0.5, bandwidth=10) == 0


def test_gathering_and_scattering_make_an_all_reduce() -> None:
    whole = at_scale.all_reduce(1e6, 7, 1e-3, 1e9)
    assert 2 * at_scale.all_gather(1e6, 7, 1e-3, 1e9) == pytest.approx(whole)


def test_by_data_by_hand() -> None:
    step = at_scale.data_parallel(SMALL, ROOM, 4, sequences=12)
    assert step.compute == pytest.approx(SMALL.flops(12) / 4e6)
    assert step.hidden == pytest.approx(6 * (0.5 + 2 * SMALL.parameters / 400))
    assert step.exposed == 0


def test_within_a_node_the_inner_link_decides() -> None:
    step = at_scale.data_parallel(SMALL, ROOM, 2, sequences=12)
    assert step.hidden == pytest.approx(2 * (0.5 + 2 * SMALL.parameters / 2000))


def test_sharding_sends_half_as_much_again() -> None:
    free = replace(ROOM, latency=0.0)
    by_data, sharded = (way(SMALL, free, 4, 12) for way in (at_scale.data_parallel, at_scale.sharded))
    assert sharded.hidden == pytest.approx(1.5 * by_data.hidden)
    assert sharded.compute == by_data.compute


def test_tensor_times_data_by_hand() -> None:
    step = at_scale.tensor_data(SMALL, ROOM, 4, sequences=12, tensor=2)
    activations = 2 * 6 * 8 * 4  # half of the sequences, 8 positions of 4 numbers, 2 bytes each
    assert step.exposed == pytest.approx(6 * 2 * 2 * (0.5 + activations / 2000))
    assert step.hidden == pytest.approx(2 * (0.5 + SMALL.parameters / 200))


def test_tensor_of_one_is_by_data() -> None:
    one = at_scale.tensor_data(SMALL, ROOM, 4, 12, tensor=1)
    assert one == at_scale.data_parallel(SMALL, ROOM, 4, 12)


@pytest.mark.parametrize(("k", "tensor"), [(3, 2), (8, 4)])
def test_tensor_must_divide_and_fit_into_a_node(k: int, tensor: int) -> None:
    with pytest.raises(ValueError, match=f"got k={k}"):
        at_scale.tensor_data(SMALL, ROOM, k, 12, tensor)


def test_a_step_lies_between_its_bounds() -> None:
    step = Step(compute=3, exposed=1, hidden=5)
    assert (step.overlapped, step.in_turn) == (5, 9)
    assert Step(3, 1, 2).overlapped == 4


def test_where_links_begin_to_decide() -> None:
    free = replace(ROOM, latency=0.0, inner=ROOM.bandwidth)
    k = at_scale.flat_from(SMALL, free, 100_000)
    assert k > 100  # else the k - 1 of k shares that travel would matter
    step = at_scale.sharded(SMALL, free, round(k), 100_000)
    assert step.compute == pytest.approx(step.hidden, rel=0.02)


def test_gpt3_does_not_fit_one_gpu_by_far() -> None:
    assert at_scale.state(published.GPT3, 1) == pytest.approx(2.79e12, rel=0.01)
    assert at_scale.state(published.GPT3, 64) < published.SELENE.memory < at_scale.state(published.GPT3, 32)


@pytest.mark.parametrize(
    ("run", "billions"),
    list(
        zip(
            (*published.WITHOUT_PIPELINE, *published.WITH_PIPELINE),
            (1.7, 3.6, 7.5, 18.4, 39.1, 76.1, 145.6, 310.1, 529.6, 1008.0),
            strict=True,
        )
    ),
)
def test_sizes_are_those_of_the_paper(run: published.Run, billions: float) -> None:
    assert round(run.model.parameters / 1e9, 1) == billions


def test_days_are_those_of_the_paper() -> None:
    """90, 74 and 74 days for 300 billion tokens (table 2), by 8 T P / n X (equation 4)."""
    days = [8 * 300e9 * published.GPT3.parameters / (r.gpus * r.tflops * 1e12) / 86400 for r in published.SHARDED]
    assert [round(d) for d in days] == [88, 72, 72]  # their run includes what the formula leaves out
    assert isclose(published.SHARDED[1].seconds, published.SHARDED[2].seconds)
