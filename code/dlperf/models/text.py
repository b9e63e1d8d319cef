"""Character-level dataset for the GPT: a fixed excerpt of the book's prose as integers, drawn in batches."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

EXCERPT = Path(__file__).with_name("excerpt.txt").read_text(encoding="utf-8")
CHARACTERS = "".join(sorted(set(EXCERPT)))
"""Every character of the excerpt, once; its place is its number."""


def encode(text: str) -> Tensor:
    """Returns a text as numbers, int64; KeyError names a character that the excerpt does not have."""
    number = {character: n for n, character in enumerate(CHARACTERS)}
    return torch.tensor([number[character] for character in text])


def decode(numbers: Tensor) -> str:
    """Returns numbers as text."""
    return "".join(CHARACTERS[n] for n in numbers.tolist())


def batch(size: int, time: int, device: torch.device | str = "cpu", seed: int = 0) -> tuple[Tensor, Tensor]:
    """Returns so many pieces of the excerpt, drawn at random, and the character that follows each: (size, time)."""
    draw = torch.Generator().manual_seed(seed)
    numbers = encode(EXCERPT)
    starts = torch.randint(len(numbers) - time, (size,), generator=draw)
    pieces = torch.stack([numbers[start : start + time + 1] for start in starts.tolist()])
    return pieces[:, :-1].to(device), pieces[:, 1:].to(device)
