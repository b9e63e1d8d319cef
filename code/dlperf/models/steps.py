"""The book's two training steps, in the sizes that suit a device: one is called again and again, on one mini-batch."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from dlperf.device import has_cuda
from dlperf.models import gpt, resnet, text
from dlperf.models.training import training_step

CPU_GPT = gpt.Size(len(text.CHARACTERS), context=128, layers=4, heads=4, width=128)
GPU_GPT = gpt.Size(len(text.CHARACTERS), context=512, layers=8, heads=8, width=512)
"""Their vocabulary is the characters of the excerpt; 0.8 and 25 million parameters."""


@dataclass(frozen=True)
class Step:
    """A training step of ``model`` on one mini-batch; calling it returns the loss, a tensor of one number."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    inputs: Tensor
    targets: Tensor
    dtype: torch.dtype = torch.float32

    def __call__(self) -> Tensor:
        return training_step(self.model, self.optimizer, self.inputs, self.targets, self.dtype)

    def as_type(self, dtype: torch.dtype) -> Step:
        """Returns the same step, of the same weights, by autocast in another type."""
        return replace(self, dtype=dtype)


def is_large(device: torch.device | str) -> bool:
    """Returns whether the device is a GPU with enough memory for the larger sizes: 16 GiB."""
    return has_cuda(device) and torch.cuda.get_device_properties(device).total_memory >= 16 * 2**30


def images(device: torch.device | str) -> int:
    """Returns how many images a step of ResNet-18 takes: 512 on a large GPU, 16 elsewhere."""
    return 512 if is_large(device) else 16


def resnet_step(device: torch.device | str, batch: int | None = None) -> Step:
    """Returns a step of ResNet-18 on ``batch`` images; see `images`."""
    torch.manual_seed(0)
    model = resnet.ResNet18().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return Step(model, optimizer, *resnet.batch(batch or images(device), device))


def gpt_step(device: torch.device | str, batch: int | None = None, size: gpt.Size | None = None) -> Step:
    """Returns a step of the small GPT on ``batch`` pieces of text, by default 64 on a large GPU and 16 elsewhere."""
    torch.manual_seed(0)
    large = is_large(device)
    size = size or (GPU_GPT if large else CPU_GPT)
    model = gpt.GPT(size).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    return Step(model, optimizer, *text.batch(batch or (64 if large else 16), size.context, device))
