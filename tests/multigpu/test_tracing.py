"""What a traced step tells of itself: moments in their order, messages one after another, and no hook left."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import nn
from torch.futures import Future

from dlperf.multigpu.data_parallel import Buckets, add_up, train_batch
from dlperf.multigpu.tracing import StepTrace, Tracer
from tests.multigpu.made_up import trace


class Work:
    """A sum that is there at once."""

    def __init__(self) -> None:
        self.future: Future[None] = Future()
        self.future.set_result(None)

    def get_future(self) -> Future[None]:
        return self.future


def traced(*, early: bool) -> tuple[StepTrace, nn.Module]:
    model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
    sgd = torch.optim.SGD(model.parameters(), lr=0.1)
    weights = list(model.parameters())
    with Tracer(model, sgd, torch.device("cpu")) as tracer:
        if early:
            buckets = Buckets(weights, 0, tracer.send(lambda flat: Work()))
            exchange = buckets.finish
        else:
            exchange = partial(add_up, weights, tracer.all_reduce(lambda flat: None))
        train_batch(model, sgd, torch.randn(5, 4), torch.zeros(5, dtype=torch.long), 5, exchange)
        if early:
            buckets.close()
    return tracer.trace(), model


@pytest.mark.parametrize("early", [False, True])
def test_moments_come_in_the_order_of_the_step(early: bool) -> None:
    found, model = traced(early=early)
    moments = [found.begin, found.forward_end, *found.ready, found.update, found.end]
    assert moments == sorted(moments)
    assert found.backward_end == found.ready[-1]
    assert sorted(found.gradient_bytes) == sorted(p.nbytes for p in model.parameters())
    assert found.seconds == pytest.approx(found.computing + found.waiting)


def test_a_message_at_the_end_begins_after_the_last_gradient() -> None:
    found, model = traced(early=False)
    assert found.message_bytes == (sum(p.nbytes for p in model.parameters()),)
    assert found.backward_end <= found.sent[0] <= found.arrived[0] <= found.update


def test_messages_on_the_way_begin_with_their_gradients() -> None:
    found, _ = traced(early=True)
    assert found.message_bytes == found.gradient_bytes
    assert all(ready <= sent for ready, sent in zip(found.ready, found.sent, strict=True))
    assert found.sent[0] < found.backward_end  # before the last gradient


def test_no_hook_stays() -> None:
    _, model = traced(early=True)
    assert not model._forward_hooks
    assert not model._forward_pre_hooks
    assert not any(p._post_accumulate_grad_hooks for p in model.parameters())


def test_a_message_waits_for_those_before_it() -> None:
    found = trace(messages=((1.0, 2.0, 8), (1.5, 2.5, 8), (3.0, 3.25, 8)))
    assert found.messages() == [(1.0, 2.0), (2.0, 2.5), (3.0, 3.25)]


def test_the_figures_of_a_made_up_step() -> None:
    found = trace(begin=10.0, update=4.0, end=4.5)
    assert (found.seconds, found.computing, found.waiting) == (4.5, 3.5, 1.0)
    assert found.backward_end == 13.0
