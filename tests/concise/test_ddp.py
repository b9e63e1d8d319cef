"""What needs no other process: models, examples and the old way to several GPUs."""

from __future__ import annotations

import pytest
import torch

from dlperf.concise import ddp
from dlperf.models import steps


@pytest.mark.parametrize("name", ddp.MODELS)
def test_the_first_examples_of_a_larger_batch_are_those_of_a_smaller(name: str) -> None:
    step = ddp.MODELS[name]("cpu", 2)
    inputs, targets = ddp.whole(step, 4)
    assert len(inputs) == len(targets) == 4
    assert inputs[0].shape == step.inputs[0].shape
    assert targets[0].shape == step.targets[0].shape


def test_data_parallel_takes_the_step_of_the_whole_batch() -> None:
    cpu = torch.device("cpu")
    size = steps.CPU_GPT
    divided = ddp.data_parallel([cpu, cpu], "GPT", 1)  # without a GPU it leaves the batch in one
    plain = steps.gpt_step("cpu", 1)
    inputs, targets = ddp.whole(plain, 2)
    assert inputs.shape == (2, size.context)
    ddp.loss_of(plain.model, inputs, targets).backward()
    plain.optimizer.step()
    divided()
    for a, b in zip(divided.args[0].model.parameters(), plain.model.parameters(), strict=True):
        torch.testing.assert_close(a, b)


def test_an_error_is_relative_to_the_largest_value() -> None:
    assert ddp.error(torch.tensor([1.0, -4.0]), torch.tensor([2.0, -4.0])) == 0.25
