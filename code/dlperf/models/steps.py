"""The book's two training steps, in the sizes that suit a device: one is called again and again, on one mini-batch."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from dlperf.device import is_gpu
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


def resnet_step(device: torch.device | str, batch: int | None = None) -> Step:
    """Returns a step of ResNet-18 on ``batch`` images, by default 16 on a CPU and 512 on a GPU."""
    torch.manual_seed(0)
    model = resnet.ResNet18().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    images, classes = resnet.batch(batch or (512 if is_gpu(device) else 16), device)
    return Step(model, optimizer, images, classes)


def gpt_step(device: torch.device | str, batch: int | None = None, size: gpt.Size | None = None) -> Step:
    """Returns a step of the small GPT on ``batch`` pieces of text, by default 16 on a CPU and 64 on a GPU."""
    torch.manual_seed(0)
    size = size or (GPU_GPT if is_gpu(device) else CPU_GPT)
    model = gpt.GPT(size).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    pieces, following = text.batch(batch or (64 if is_gpu(device) else 16), size.context, device)
    return Step(model, optimizer, pieces, following)
