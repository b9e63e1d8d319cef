"""A small GPT: blocks of attention and perceptron, each added to what went in, that guess the next character.

After Radford et al., *Language Models are Unsupervised Multitask Learners*, 2019 (GPT-2): normalisation before each
part of a block, learned positions, and one matrix that both reads and writes characters.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn


@dataclass(frozen=True)
class Size:
    """How large a GPT is: ``context`` is the longest text that it sees, ``width`` the numbers for each character."""

    vocabulary: int
    context: int
    layers: int
    heads: int
    width: int

    def __post_init__(self) -> None:
        if self.width % self.heads:
            raise ValueError(f"width is divided among the heads: {self.width} is no multiple of {self.heads}")


class Attention(nn.Module):
    """Each position mixes what the positions up to it hold: (batch, time, width) -> the same."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.heads = size.heads
        self.project = nn.Linear(size.width, 3 * size.width)  # queries, keys and values
        self.output = nn.Linear(size.width, size.width)

    def forward(self, x: Tensor) -> Tensor:
        parts = self.project(x).unflatten(-1, (3, self.heads, -1))
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)  # each (batch, heads, time, width / heads)
        mixed = F.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        return self.output(mixed.transpose(1, 2).flatten(-2))


class Block(nn.Module):
    """Attention, then a perceptron at each position: (batch, time, width) -> the same."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(size.width), Attention(size))
        wide, narrow = nn.Linear(size.width, 4 * size.width), nn.Linear(4 * size.width, size.width)
        self.perceptron = nn.Sequential(nn.LayerNorm(size.width), wide, nn.GELU(), narrow)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(x)
        return x + self.perceptron(x)


class GPT(nn.Module):
    """Characters (batch, time), as numbers -> a score for each that may follow: (batch, time, vocabulary)."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        self.size = size
        self.characters = nn.Embedding(size.vocabulary, size.width)
        self.positions = nn.Embedding(size.context, size.width)
        self.blocks = nn.Sequential(*(Block(size) for _ in range(size.layers)), nn.LayerNorm(size.width))
        self.apply(_initialise)

    def forward(self, characters: Tensor) -> Tensor:
        time = characters.shape[1]
        if time > self.size.context:
            raise ValueError(f"a text has at most {self.size.context} characters, got {time}")
        x = self.characters(characters) + self.positions.weight[:time]
        return F.linear(self.blocks(x), self.characters.weight)


def _initialise(part: nn.Module) -> None:
    """Draws weights as GPT-2 does: normal, of standard deviation 0.02."""
    if isinstance(part, nn.Linear | nn.Embedding):
        nn.init.normal_(part.weight, std=0.02)
    if isinstance(part, nn.Linear):
        nn.init.zeros_(part.bias)
