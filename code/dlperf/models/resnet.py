"""ResNet-18 for small images: convolutions in pairs, each pair added to what went in.

After He et al., *Deep Residual Learning for Image Recognition*, CVPR 2016: the network of table 1, with the stem of
section 4.2, since an image of 32 × 32 points bears no halving before the first block.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

WIDTHS = (64, 128, 256, 512)
"""Channels of the four stages; all but the first halve height and width."""


class Block(nn.Module):
    """Two convolutions, added to their input: (batch, ins, h, w) -> (batch, outs, h / stride, w / stride)."""

    def __init__(self, ins: int, outs: int, stride: int = 1) -> None:
        super().__init__()
        self.first = convolution(ins, outs, 3, stride)
        self.second = convolution(outs, outs, 3)
        self.shortcut = convolution(ins, outs, 1, stride) if stride > 1 or ins != outs else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        inner = self.second(self.first(x).relu())
        return (inner + self.shortcut(x)).relu()


def convolution(ins: int, outs: int, size: int, stride: int = 1) -> nn.Sequential:
    """Returns a convolution that keeps height and width, or divides them by ``stride``, and its normalisation."""
    kernel = nn.Conv2d(ins, outs, size, stride, padding=size // 2, bias=False)
    return nn.Sequential(kernel, nn.BatchNorm2d(outs))


class ResNet18(nn.Module):
    """Images (batch, 3, 32, 32) -> a score for each of ``classes``: (batch, classes)."""

    def __init__(self, classes: int = 10) -> None:
        super().__init__()
        self.stem = nn.Sequential(convolution(3, WIDTHS[0], 3), nn.ReLU())
        before = (WIDTHS[0], *WIDTHS)
        self.stages = nn.Sequential(
            *(
                nn.Sequential(Block(ins, outs, 1 if n == 0 else 2), Block(outs, outs))
                for n, (ins, outs) in enumerate(zip(before, WIDTHS, strict=False))
            )
        )
        self.head = nn.Linear(WIDTHS[-1], classes)

    def forward(self, images: Tensor) -> Tensor:
        features = self.stages(self.stem(images))
        return self.head(features.mean(dim=(2, 3)))


def batch(size: int, device: torch.device | str = "cpu", classes: int = 10) -> tuple[Tensor, Tensor]:
    """Returns so many images of noise, float32 of shape (size, 3, 32, 32), and a class for each.

    How long a step takes does not depend on what the images show.
    """
    draw = torch.Generator().manual_seed(0)
    images = torch.randn(size, 3, 32, 32, generator=draw)
    return images.to(device), torch.randint(classes, (size,), generator=draw).to(device)
