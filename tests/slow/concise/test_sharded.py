"""The GPT on two processes by PyTorch's own means, against one process and against PyTorch's own counter."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dlperf.concise import observed, sharded, twins, zero
from dlperf.models import gpt, text
from dlperf.multigpu.group import Group
from dlperf.network import Network, unavailable
from tests.concise.sharding import counted_by_pytorch

TASK = observed.Task(gpt.Size(len(text.CHARACTERS), context=16, layers=4, heads=2, width=32), batch=4)
WAYS = sharded.SHARDED | {"ahead": sharded.zero_3_ahead} | twins.SPLIT


@pytest.fixture(scope="module")
def group() -> Iterator[Group]:
    with Group(2) as group:
        yield group


@pytest.fixture(scope="module")
def alone(group):
    return group.run(observed.look, sharded.alone, TASK)[0]


@pytest.fixture(scope="module", params=WAYS)
def way(request, group):
    return request.param, group.run(observed.look, WAYS[request.param], TASK)


def test_the_gradient_is_that_of_one_process(way, alone):
    _, seen = way
    assert {name for each in seen for name in each.gradient} == set(alone.gradient)
    for each in seen:
        assert observed.away(each.gradient, alone.gradient) < 1e-5


def test_the_losses_are_those_of_one_process(way, alone):
    name, seen = way
    mean = [sum(losses) / 2 for losses in zip(*(each.losses for each in seen), strict=True)]
    found = seen[1].losses if name in ("GPipe", "1F1B") else mean
    assert found == pytest.approx(alone.losses, rel=1e-4)


def test_collectives_are_those_that_pytorch_counts(way, group):
    name, seen = way
    if name in ("GPipe", "1F1B"):
        pytest.skip("PyTorch's counter follows modules, and fails where forward passes of micro-batches overlap")
    right = group.run(counted_by_pytorch, WAYS[name], TASK)[0]
    assert {what: number for what, number in seen[0].number.items() if what != "send"} == right


def test_each_way_asks_for_the_collectives_that_it_needs(way):
    name, seen = way
    blocks = TASK.size.layers
    expected = {
        "ZeRO-2": {"all-gather": blocks + 1, "reduce-scatter": blocks + 1},
        "ZeRO-3": {"all-gather": 2 * (blocks + 1), "reduce-scatter": blocks + 1},
        "ahead": {"all-gather": 2 * (blocks + 1), "reduce-scatter": blocks + 1},
        "tensor": {"all-reduce": 2 * blocks},
        "GPipe": {"send": twins.MICRO_BATCHES, "all-reduce": 1},
        "1F1B": {"send": twins.MICRO_BATCHES, "all-reduce": 1},
    }
    if name in expected:
        assert seen[0].number == expected[name]


def test_what_is_held_is_what_zero_says(way):
    name, seen = way
    stages = {"DDP": 0, "ZeRO-1": 1, "ZeRO-3": 3}
    if name in stages:
        most = max(each.held.total for each in seen)
        assert most == pytest.approx(zero.held(zero.FLOAT32, TASK.parameters(), 2, stages[name]), rel=0.1)


def test_a_step_can_be_timed_and_its_peak_be_found(way, group):
    name, _ = way
    assert all(seconds > 0 for seconds in group.run(observed.timed, WAYS[name], TASK))
    assert all(peak > 0 for peak in group.run(observed.most, WAYS[name], TASK))


@pytest.mark.skipif(bool(unavailable()), reason="no network namespaces here")
def test_what_leaves_a_host_is_what_the_formulas_say():
    task = observed.Task(gpt.Size(len(text.CHARACTERS), context=16, layers=2, heads=4, width=256), batch=4)
    weighs = 4 * task.parameters()
    told = {
        sharded.ddp: zero.sent(weighs, 2, 0),
        sharded.zero_2: zero.sent_by_gloo(weighs, 2, 1),
        sharded.zero_3: zero.sent_by_gloo(weighs, 2, 2),
    }
    with Network(2) as network:
        for make, nbytes in told.items():
            for seen in network.run(observed.look, 2, make, task):
                assert seen.wire == pytest.approx(nbytes, rel=0.03)
