"""What servers do with pushes, against PyTorch's own optimizers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import torch

from dlperf.kvstore import SGD, Adam, Momentum, Sum, wire
from dlperf.kvstore.errors import Refused
from dlperf.kvstore.items import Item, Spec, load

ORACLES: list[tuple[Any, Any]] = [
    (SGD(0.1), lambda p: torch.optim.SGD(p, 0.1)),
    (Momentum(0.1, 0.8), lambda p: torch.optim.SGD(p, 0.1, momentum=0.8)),
    (Adam(0.01, 0.8, 0.9), lambda p: torch.optim.Adam(p, 0.01, betas=(0.8, 0.9))),
]
SHAPE = (6, 3)


def item(updater: Any, value: torch.Tensor) -> Item:
    name = str(value.dtype).removeprefix("torch.")
    return Item(Spec(name, tuple(value.shape), updater), wire.to_bytes(value))  # type: ignore[arg-type]


def pushed(value: torch.Tensor) -> torch.Tensor:
    return torch.randn_like(value)


@pytest.mark.parametrize(("updater", "oracle"), ORACLES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_steps_are_those_of_the_optimizer(updater: Any, oracle: Any, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    value = torch.randn(SHAPE, dtype=dtype, requires_grad=True)
    mine, optimizer = item(updater, value), oracle([value])
    for _ in range(5):
        value.grad = pushed(value)
        mine.update(value.grad, None)
        optimizer.step()
    torch.testing.assert_close(mine.value, value.detach())


@pytest.mark.parametrize(("updater", "_"), ORACLES)
def test_rows_step_as_they_would_alone(updater: Any, _: Any) -> None:
    torch.manual_seed(0)
    value, rows = torch.randn(SHAPE), torch.tensor([4, 1])
    whole, some = item(updater, value), item(updater, value)
    gradient = torch.zeros(SHAPE)
    gradient[rows] = torch.randn(2, 3)
    whole.update(gradient, None)
    some.update(gradient[rows], rows)
    assert torch.equal(some.value[rows], whole.value[rows])
    others = [0, 2, 3, 5]
    assert torch.equal(some.value[others], value[others])


def test_a_sum_adds_up_whole_numbers_and_others_refuse_them() -> None:
    mine = item(Sum(), torch.tensor([1, 2]))
    mine.update(torch.tensor([10, 20]), None)
    assert mine.value.tolist() == [11, 22]
    with pytest.raises(Refused, match="SGD makes steps of fractions, so it needs floating point"):
        item(SGD(0.1), torch.tensor([1, 2]))


@pytest.mark.parametrize("rows", [None, torch.tensor([0, 5])])
def test_a_round_counts_as_one_step_with_the_sum(rows: torch.Tensor | None) -> None:
    value = torch.randn(SHAPE, generator=torch.Generator().manual_seed(0))
    mine, oracle = item(Adam(0.1), value), item(Adam(0.1), value)
    shape = SHAPE if rows is None else (2, 3)
    pushes = [torch.randn(shape, generator=torch.Generator().manual_seed(i)) for i in range(3)]
    for each in pushes:
        mine.collect(each, rows)
        assert torch.equal(mine.value, value)
    mine.end_round()
    oracle.update(pushes[0] + pushes[1] + pushes[2], rows)
    torch.testing.assert_close(mine.value, oracle.value)
    mine.end_round()  # nothing was pushed
    assert mine.steps == 1


@pytest.mark.parametrize("rows", [None, torch.tensor([3, 0])])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
def test_what_is_saved_goes_on_as_if_nothing_had_been(rows: torch.Tensor | None, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    mine = item(Adam(0.1), torch.randn(SHAPE).to(dtype))
    push = torch.randn(SHAPE if rows is None else (2, 3)).to(dtype)
    mine.update(push, rows)
    mine.collect(push, rows)
    saved, frames = mine.save()
    other = load(msgspec.msgpack.decode(wire.encode(saved), type=type(saved)), frames)
    for each in (mine, other):
        each.end_round()
        each.update(push, rows)
    assert torch.equal(mine.value, other.value)
    assert mine.steps == other.steps == 3
    with pytest.raises(Refused, match=f"this part has {len(frames)} frames, got {len(frames) - 1}"):
        load(saved, frames[:-1])


@pytest.mark.parametrize(
    ("frames", "why"),
    [
        ([bytes(71)], r"\(6, 3\) of torch.float32 are 72 bytes, got 71"),
        ([], "got 0"),
        ([bytes(12), bytes(7)], "row numbers have 8 bytes each, got 7 bytes"),
        ([bytes(12), (6).to_bytes(8, "little")], "rows are 0 to 5, got 6 to 6"),
        ([bytes(24), bytes(16)], "a row comes twice"),
        ([bytes(24), bytes(8)], r"\(1, 3\) of torch.float32 are 12 bytes, got 24"),
    ],
)
def test_what_does_not_fit_is_refused(frames: list[bytes], why: str) -> None:
    with pytest.raises(Refused, match=why):
        item(Sum(), torch.zeros(SHAPE)).parse(frames)


def test_only_tables_have_rows() -> None:
    with pytest.raises(Refused, match="only a table has rows"):
        item(Sum(), torch.zeros(4)).parse([bytes(4), bytes(8)])
