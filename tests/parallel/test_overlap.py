"""The pipeline, what it should take, and what it takes over a link."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

from dlperf import network
from dlperf.network import PAYLOAD, Network
from dlperf.parallel import gradients
from dlperf.parallel.overlap import (
    SIDES,
    Product,
    Trial,
    balanced,
    compared,
    over_link,
    pipeline,
    predict,
    without_overlap,
)
from dlperf.turns import columns
from tests.nets import small_net

times = st.floats(1e-6, 10)


def noted(run: Callable[..., None], chunks: int) -> list[str]:
    notes: list[str] = []

    def transfer(i: int, chunk: int) -> Callable[[], None]:
        assert chunk == 10 * i
        notes.append(f"send {i}")
        return lambda: notes.append(f"sent {i}")

    run(lambda i: (notes.append(f"compute {i}"), 10 * i)[1], transfer, chunks)
    return notes


def test_a_pipeline_sends_each_chunk_before_it_waits_for_any() -> None:
    assert noted(pipeline, 2) == ["compute 0", "send 0", "compute 1", "send 1", "sent 0", "sent 1"]


def test_in_turn_each_chunk_is_sent_before_the_next_is_computed() -> None:
    assert noted(without_overlap, 2) == ["compute 0", "send 0", "sent 0", "compute 1", "send 1", "sent 1"]


def simulate(computing: float, sending: float, chunks: int) -> float:
    """The same pipeline, chunk by chunk: one after another is computed, and sent when the link is free."""
    ready = link = 0.0
    for _ in range(chunks):
        ready += computing / chunks
        link = max(link, ready) + sending / chunks
    return link


@given(times, times, st.integers(1, 200))
def test_the_formula_is_what_a_simulation_gives(computing: float, sending: float, chunks: int) -> None:
    assert predict(computing, sending, chunks) == pytest.approx(simulate(computing, sending, chunks))


@given(times, times, st.integers(1, 200))
def test_the_prediction_keeps_the_bounds(computing: float, sending: float, chunks: int) -> None:
    slack = 1 + 1e-9
    assert max(computing, sending) <= predict(computing, sending, chunks) * slack
    assert predict(computing, sending, chunks) <= (computing + sending) * slack


@pytest.mark.parametrize(("transfer", "inner"), [(0.1, 1024), (300.0, 2560), (1e-9, 64)])
def test_both_sides_take_as_long_but_for_a_pause(transfer: float, inner: int) -> None:
    """A product of inner size 512 takes 0.05 s; a transfer that seems to take minutes counts as 0.25 s."""
    seconds = {"compute": 0.05, "transfer": transfer, "pipeline": 0.0}
    run = lambda work, how: Trial(0.0, [(0.0, seconds[how])])
    assert balanced(run, Product(inner=512)) == Product(inner=inner)


def test_more_chunks_never_take_longer_without_overheads() -> None:
    taken = [predict(1.0, 0.7, n) for n in range(1, 50)]
    assert taken == sorted(taken, reverse=True)


@given(st.lists(st.tuples(times, times), min_size=1, max_size=20))
def test_messages_wait_for_their_gradient_and_for_the_link(pairs: list[tuple[float, float]]) -> None:
    ready, seconds = sorted(r for r, _ in pairs), [s for _, s in pairs]
    spans = gradients.messages(ready, seconds)
    end = spans[-1][1]
    assert all(start >= r for (start, _), r in zip(spans, ready, strict=True))
    assert all(before[1] <= after[0] for before, after in pairwise(spans))
    assert end >= max(ready[-1] + seconds[-1], ready[0] + sum(seconds)) * (1 - 1e-9)
    assert end <= (ready[-1] + sum(seconds)) * (1 + 1e-9)


def test_a_bucket_is_ready_with_its_last_layer() -> None:
    alone = gradients.Step(begin=10.0, ready=[11.0, 12.0, 13.0], weighs=[4, 4, 4])
    assert gradients.predict(alone, 6.0, [4, 8]) == 3 + 4  # the second bucket has layers 2 and 3, and two thirds
    assert gradients.predict(alone, 6.0, [4, 4, 4]) == 1 + 2 + 2 + 2
    assert gradients.predict(alone, 6.0, [4, 4, 4], at_the_end=True) == 3 + 6
    assert gradients.predict(alone, 0.3, [4, 4, 4]) == pytest.approx(3.1)


def test_a_message_is_full_with_the_bytes_that_it_holds() -> None:
    alone = gradients.Step(begin=10.0, ready=[11.0, 12.0, 13.0, 14.0], weighs=[10, 2, 3, 1])
    assert gradients.when_full(alone, [10, 2, 3, 1]) == [1, 2, 3, 4]
    assert gradients.when_full(alone, [12, 4]) == [2, 4]
    assert gradients.when_full(alone, [16]) == [4]


@given(st.lists(st.tuples(times, times, times), min_size=1, max_size=5), st.integers(1, 64))
def test_turns_are_compared_one_by_one(rows: list[tuple[float, float, float]], chunks: int) -> None:
    took = columns([dict(zip(SIDES, row, strict=True)) for row in rows], dict.fromkeys(SIDES, "s"))
    found = compared(took, chunks)
    for i, (compute, transfer, both) in enumerate(rows):
        assert found["predicted_over_measured"].samples[i] == pytest.approx(predict(compute, transfer, chunks) / both)
        assert found["predicted_over_longer"].samples[i] == pytest.approx(
            predict(compute, transfer, chunks) / max(compute, transfer)
        )
        assert found["measured_over_longer"].samples[i] == pytest.approx(both / max(compute, transfer))
        assert found["measured_over_sum"].samples[i] == pytest.approx(both / (compute + transfer))


def test_computing_is_the_time_of_the_chunks_and_not_of_the_gaps_between_them() -> None:
    assert Trial(begin=1.0, computed=[(1.0, 2.0), (4.0, 6.0)], arrived=[5.0]).computing == 3
    assert Trial(begin=1.0, arrived=[5.0]).computing == 0


def test_hidden_is_what_of_the_link_lies_before_the_last_gradient() -> None:
    step = gradients.Step(begin=0.0, ready=[2.0, 4.0, 6.0], sent=[2.0, 4.0, 6.0], arrived=[5.0, 8.0, 11.0])
    assert step.under_way() == [(2.0, 5.0), (5.0, 8.0), (8.0, 11.0)]
    assert step.hidden == (6 - 2) / 9
    assert step.computing == 6
    at_the_end = gradients.Step(begin=0.0, ready=[2.0, 6.0], sent=[6.0, 6.0], arrived=[9.0, 12.0])
    assert at_the_end.hidden == 0


@pytest.fixture(scope="module")
def pair() -> Iterator[Network]:
    if why := network.unavailable():
        pytest.skip(why)
    with Network(2) as made:
        yield made


@pytest.mark.parametrize("how", ["transfer", "in turn", "pipeline", "waited"])
def test_every_chunk_is_sent_and_arrives_in_order(pair: Network, how: str) -> None:
    seen = over_link(pair, Product(rows=512, inner=64, columns=256, chunks=4), how)
    assert len(seen.sent) == len(seen.arrived) == 4
    assert len(seen.computed) == (0 if how == "transfer" else 4)
    assert all(sent < arrived for sent, arrived in zip(seen.sent, seen.arrived, strict=True))
    assert seen.arrived == sorted(seen.arrived)
    if how == "in turn":
        begins = [start for start, _ in seen.computed[1:]]
        assert all(arrived < begin for arrived, begin in zip(seen.arrived, begins, strict=False))


def test_a_transfer_takes_at_least_what_the_link_needs(pair: Network) -> None:
    work = Product(rows=2048, inner=8, columns=512)
    assert over_link(pair, work, "transfer").seconds > 0.95 * work.bytes / PAYLOAD / pair.rate


@pytest.mark.parametrize("how", ["at the end", "as ready", "DDP"])
def test_gradients_are_those_of_the_whole_batch(pair: Network, how: str) -> None:
    task = gradients.Task(batch=6, make=small_net)
    whole = torch.cat([task.data(rank)[0] for rank in (0, 1)]), torch.cat([task.data(rank)[1] for rank in (0, 1)])
    net = task.net()
    cross_entropy(net(whole[0]), whole[1]).backward()
    weights = list(net.parameters())
    for _ in range(2):  # a host keeps its network, and each step is one of its own
        for step in pair.run(gradients.train, 2, task, how):
            torch.testing.assert_close(step.gradient, weights[0].grad, rtol=1e-4, atol=1e-7)
            assert len(step.ready) == len(step.weighs) == len(weights)
            assert sum(step.sizes) == sum(step.weighs) == sum(p.nbytes for p in weights)
            assert len(step.sent) == len(step.arrived) == len(step.sizes)


def test_ten_lines_average_gradients_too(pair: Network) -> None:
    assert gradients.difference(pair, gradients.Task(batch=3, make=small_net)) < 1e-5


def test_alone_each_host_has_its_own_gradient(pair: Network) -> None:
    a, b = pair.run(gradients.train, 2, gradients.Task(batch=3, make=small_net), "alone")
    assert not a.gradient.equal(b.gradient)
    assert not a.sent


def test_a_way_that_there_is_not_is_refused_before_anything_runs() -> None:
    with pytest.raises(ValueError, match="backwards"):
        over_link(None, Product(), "backwards")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="backwards"):
        gradients.train(0, 1, gradients.Task(), "backwards")
