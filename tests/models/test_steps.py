"""The book's steps: they train, in the sizes that they promise, and in another type with the same weights."""

from __future__ import annotations

import math

import pytest
import torch

from dlperf.models import gpt, steps, text


def test_sizes_are_those_of_a_cpu_where_there_is_no_large_gpu() -> None:
    resnet, small = steps.resnet_step("cpu"), steps.gpt_step("cpu")
    assert resnet.inputs.shape == (16, 3, 32, 32)
    assert small.inputs.shape == small.targets.shape == (16, steps.CPU_GPT.context)
    assert sum(p.numel() for p in small.model.parameters()) == pytest.approx(0.8e6, rel=0.05)


def test_the_gpt_for_a_gpu_has_the_parameters_that_its_comment_names() -> None:
    with torch.device("meta"):
        model = gpt.GPT(steps.GPU_GPT)
    assert sum(p.numel() for p in model.parameters()) == pytest.approx(25e6, rel=0.05)


def test_a_step_trains_the_same_weights_in_either_type() -> None:
    size = gpt.Size(len(text.CHARACTERS), context=16, layers=1, heads=2, width=32)
    step = steps.gpt_step("cpu", 4, size)
    lower = step.as_type(torch.bfloat16)
    assert lower.model is step.model
    losses = [float(each()) for _ in range(15) for each in (step, lower)]
    assert losses[0] == pytest.approx(math.log(size.vocabulary), rel=0.1)
    assert losses[-1] < 0.9 * losses[0]


def test_a_step_is_the_same_whenever_it_is_made() -> None:
    assert float(steps.gpt_step("cpu", 2)()) == float(steps.gpt_step("cpu", 2)())
