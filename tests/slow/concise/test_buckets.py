"""Our buckets and DDP's on two processes: the same gradients, in the messages that were predicted."""

from __future__ import annotations

import pytest
import torch

from dlperf.alpha_beta import Line
from dlperf.concise import buckets, forecast
from dlperf.concise.forecast import MIB
from dlperf.multigpu.group import processes
from dlperf.parallel import gradients
from tests.concise import hooked

OURS, NARROW = "ours, 1 MiB", "DDP, 1 MiB, bfloat16"


def test_ours_and_ddp_send_what_is_predicted_and_find_the_same_gradients() -> None:
    sizes = forecast.gradients(forecast.model(128))
    with processes(2) as crew:
        found = {way: take() for way, take in buckets.ways(crew).items()}
        measured = buckets.compare(crew, Line(1e-4, 1e-8), repeats=1)
    right = torch.stack([step.gradient for step in found[buckets.ALONE]]).mean(0)
    for way, steps in found.items():
        if way == buckets.ALONE:
            assert steps[0].sizes == []
            continue
        for step in steps:
            assert step.gradient is not None
            near = {"rtol": 2**-7, "atol": 1e-4} if way == NARROW else {}  # bfloat16 keeps eight digits of two
            torch.testing.assert_close(step.gradient, right, **near)
    assert sorted(measured) == sorted(way for way in found if way != buckets.ALONE)
    assert (measured[NARROW]["step"] / measured["DDP, 1 MiB"]["step"]).unit == "1"  # it raises where none took turns
    for way, size in ((OURS, 1), ("DDP, 1 MiB", 1), ("DDP, 0.25 MiB", 0.25)):
        predicted = forecast.fill_buckets(sizes, first=size * MIB, cap=size * MIB)
        assert found[way][0].sizes == pytest.approx(predicted, abs=4096)  # biases may come before their weights
        assert measured[way]["messages"].median == len(found[way][0].sizes)
    narrow, wide = (found[way][0].sizes for way in (NARROW, "DDP, 1 MiB"))
    assert [2 * size for size in narrow] == wide
    assert found[buckets.DEFAULT][0].sizes == pytest.approx(forecast.fill_buckets(sizes), abs=4096)


def test_a_large_network_goes_in_ddp_s_own_buckets_and_in_as_many_halves() -> None:
    task = gradients.Task(batch=2)
    weights = sum(each.numel() for each in task.net().parameters())
    with processes(2) as crew:
        found = buckets.compare(crew, Line(1e-4, 1e-8), buckets.Plan(task, ours=25.0), repeats=1)
        steps = crew.run(buckets.compressed, task)
    assert list(found) == ["ours, 25 MiB", "DDP as it comes", "DDP as it comes, bfloat16"]
    assert all(each["over ours"].unit == "1" for each in found.values())
    assert sum(steps[0].sizes) == 2 * weights
    assert found["DDP as it comes"]["messages"].median == len(steps[0].sizes)


def test_the_hook_that_is_printed_averages_in_bfloat16() -> None:
    with processes(2) as crew:
        found = crew.run(hooked.gradient)
    right = sum(alone for _, alone in found) / 2
    for hooked_gradient, alone in found:
        assert hooked_gradient.dtype == torch.float32
        assert not torch.equal(hooked_gradient, right)  # thirds have more digits than bfloat16 keeps
        torch.testing.assert_close(hooked_gradient, right, rtol=2**-7, atol=0)
        assert not torch.equal(alone, right)
