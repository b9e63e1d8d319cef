"""The step of a device that shares a batch, against the whole batch on one device."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from dlperf.multigpu.data_parallel import Buckets, EachGradient, add_up, split_batch, train_batch


def net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)).double()


def examples(n: int) -> tuple[Tensor, Tensor]:
    draw = torch.Generator().manual_seed(1)
    return torch.randn(n, 4, generator=draw, dtype=torch.float64), torch.randint(3, (n,), generator=draw)


def whole_step(model: nn.Module, inputs: Tensor, targets: Tensor) -> list[Tensor]:
    cross_entropy(model(inputs), targets).backward()
    return [p.grad for p in model.parameters() if p.grad is not None]


class Message:
    """A sum that is there when it is waited for."""

    def __init__(self, tensor: Tensor, times: float) -> None:
        self.tensor, self.times, self.waited = tensor, times, 0

    def wait(self) -> None:
        self.waited += 1
        self.tensor *= self.times


@pytest.mark.parametrize(("n", "k"), [(16, 1), (16, 4), (13, 4), (3, 5)])
def test_shares_are_the_batch_in_order(n: int, k: int) -> None:
    inputs, targets = examples(n)
    shares = [split_batch(inputs, targets, rank, k) for rank in range(k)]
    assert torch.equal(torch.cat([x for x, _ in shares]), inputs)
    assert torch.equal(torch.cat([y for _, y in shares]), targets)
    sizes = [len(x) for x, _ in shares]
    assert sizes == sorted(sizes, reverse=True)
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize(("n", "k"), [(8, 2), (7, 3), (2, 3)])
def test_sums_of_shares_are_the_step_of_the_whole_batch(n: int, k: int) -> None:
    inputs, targets = examples(n)
    right = whole_step(net(), inputs, targets)
    parts: list[Tensor] = []
    for rank in range(k):  # one after another: each says what it would send
        model = net()
        keep = lambda flat: parts.append(flat.clone())
        exchange = lambda model=model, keep=keep: add_up(model.parameters(), keep)
        sgd = torch.optim.SGD(model.parameters(), lr=0.1)
        train_batch(model, sgd, *split_batch(inputs, targets, rank, k), n, exchange)
    found = torch.stack(parts).sum(0)
    torch.testing.assert_close(found, torch.cat([g.flatten() for g in right]), rtol=1e-12, atol=1e-14)


def test_what_the_exchange_leaves_is_what_the_optimizer_takes() -> None:
    model, inputs, targets = net(), *examples(4)
    before = copy.deepcopy(list(model.parameters()))
    gradient = whole_step(net(), inputs, targets)
    double = lambda flat: flat.mul_(2)
    train_batch(
        model,
        torch.optim.SGD(model.parameters(), lr=0.5),
        inputs,
        targets,
        4,
        lambda: add_up(model.parameters(), double),
    )
    for old, new, g in zip(before, model.parameters(), gradient, strict=True):
        torch.testing.assert_close(new, old - 0.5 * 2 * g)
        assert new.grad is None


@pytest.mark.parametrize("size", [None, 0, 100, 200, 10**6])
def test_each_gradient_is_sent_once_and_all_are_waited_for(size: int | None) -> None:
    model, (inputs, targets) = net(), examples(4)
    sent: list[Message] = []

    def send(flat: Tensor) -> Any:
        sent.append(Message(flat, 3.0))
        return sent[-1]

    weights = model.parameters()
    early = EachGradient(weights, send) if size is None else Buckets(weights, size, send)
    cross_entropy(model(inputs), targets).backward()
    under_way = len(sent)
    early.finish()
    weighs = [m.tensor.nbytes for m in sent]
    assert sum(weighs) == sum(p.nbytes for p in model.parameters())
    assert all(nbytes >= (size or 0) for nbytes in weighs[:-1])
    assert [m.waited for m in sent] == [1] * len(sent)
    assert len(sent) - under_way <= 1  # all but the last were sent in the backward pass
    assert len(sent) == {None: 4, 0: 4, 100: 2, 200: 2, 10**6: 1}[size]
    for p, g in zip(model.parameters(), whole_step(net(), inputs, targets), strict=True):
        assert p.grad is not None
        torch.testing.assert_close(p.grad, 3 * g)


def test_closed_buckets_send_nothing() -> None:
    model, (inputs, targets) = net(), examples(4)
    buckets = Buckets(model.parameters(), 0, lambda flat: pytest.fail("sent"))
    assert buckets.hooks
    buckets.close()
    cross_entropy(model(inputs), targets).backward()
    buckets.finish()
