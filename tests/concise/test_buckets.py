"""When gradients in buckets are there, against sums that a hand can add up."""

from __future__ import annotations

import inspect

import pytest
import torch
import torch.distributed as dist

from dlperf.alpha_beta import Line
from dlperf.concise import buckets, hook
from dlperf.parallel.gradients import Step

LINK = Line(0.5, 0.01)
"""Half a second, and a hundredth for each byte."""
ALONE = Step(begin=10.0, backward=12.0, ready=[13.0, 14.0, 16.0], weighs=[10, 10, 20])
"""A forward pass of 2 s, and a backward pass of 4."""


def test_a_bucket_is_sent_when_its_last_gradient_is_ready() -> None:
    first, last = 2 * (0.5 + 0.1), 2 * (0.5 + 0.1)  # of 20 bytes each, around a ring of two
    assert buckets.predict(ALONE, [20, 20], 2, LINK) == pytest.approx(6.0 + last)
    assert buckets.predict(ALONE, [10, 10], 2, LINK, 2) == pytest.approx(6.0 + 2 * (0.5 + 0.05))
    assert buckets.predict(ALONE, [40], 2, LINK) == pytest.approx(6.0 + 2 * (0.5 + 0.2))
    assert first < 2.0  # it is there before the backward pass has ended


def test_a_busy_link_lets_the_next_bucket_wait() -> None:
    slow = Line(0.0, 0.2)  # of a bucket of 20 bytes: 4 s
    assert buckets.predict(ALONE, [20, 20], 2, slow) == pytest.approx(4.0 + 4.0 + 4.0)


def test_without_latency_and_bytes_a_step_is_one_that_sends_nothing() -> None:
    assert buckets.predict(ALONE, [20, 20], 2, Line(0.0, 1e-12)) == pytest.approx(6.0)


def test_a_step_is_held_against_the_best_that_can_be_hidden() -> None:
    step = Step(begin=0.0, backward=2.0, ready=[3.0, 5.0, 8.0], weighs=[10, 10, 20], sizes=[20, 20], arrived=[4.0, 9.0])
    our = Step(begin=1.0, ready=[4.0], arrived=[7.0])
    row = buckets._row(ALONE, our, step, LINK)
    assert row["step"] == 9.0
    assert row["over ours"] == pytest.approx(1.5)
    assert row["bound"] == pytest.approx(9.0 / 6.0)  # what is sent is shorter than the backward pass
    assert row["at the end"] == pytest.approx((6.0 + 2 * 2 * (0.5 + 0.1)) / 6.0)  # two messages of 20 bytes
    assert row["predicted"] == pytest.approx(6.0 + 2 * (0.5 + 0.1))
    assert row["own passes"] == pytest.approx(8.0 + 2 * (0.5 + 0.1))  # its last gradient is there 2 s later
    assert row["free"] == pytest.approx(6.0 / 9.0)
    assert row["predicted_over_measured"] == pytest.approx(row["predicted"] / 9.0)
    assert buckets._row(ALONE, our, step, Line(0.0, 0.2))["bound"] == pytest.approx(9.0 / (2.0 + 8.0))


def test_hosts_have_different_images() -> None:
    (first, _), (second, _) = (buckets.Digits(batch=3).data(rank) for rank in range(2))
    assert first.shape == second.shape == (3, 8, 8)
    assert not first.equal(second)


class Bucket:
    """What DDP hands to a hook."""

    def __init__(self, gradients: torch.Tensor) -> None:
        self.gradients = gradients

    def buffer(self) -> torch.Tensor:
        return self.gradients


def test_a_hook_sends_half_of_the_bytes_and_gives_back_a_bucket_of_the_type_it_had() -> None:
    gradients, sent = torch.full((8,), 1 / 3), []

    def send(tensor: torch.Tensor) -> torch.futures.Future[torch.Tensor]:
        sent.append(tensor)
        there: torch.futures.Future[torch.Tensor] = torch.futures.Future()
        there.set_result(tensor + 1)
        return there

    found = hook.as_bfloat16(send, Bucket(gradients)).wait()  # type: ignore[arg-type]
    assert [tensor.nbytes for tensor in sent] == [gradients.nbytes // 2]
    assert found.data_ptr() == gradients.data_ptr()
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, torch.full((8,), 4 / 3), rtol=2**-7, atol=0)


def test_ddp_accepts_the_hook() -> None:
    """It reads the hook's annotations, and refuses what is a string."""
    signature = inspect.signature(hook.as_bfloat16)
    assert signature.parameters["bucket"].annotation is dist.GradBucket
    assert signature.return_annotation == torch.futures.Future[torch.Tensor]
