"""A training step changes the weights in the right direction, in both types."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from dlperf.models import gpt, resnet, text
from dlperf.models.training import training_step

DTYPES = [torch.float32, torch.bfloat16]


def test_it_is_the_step_written_by_hand() -> None:
    torch.manual_seed(0)
    ours, theirs = (nn.Linear(8, 3) for _ in range(2))
    theirs.load_state_dict(ours.state_dict())
    x, classes = torch.randn(5, 8), torch.tensor([0, 1, 2, 1, 0])
    loss = training_step(ours, torch.optim.SGD(ours.parameters(), lr=0.1), x, classes)
    expected = F.cross_entropy(theirs(x), classes)
    gradients = torch.autograd.grad(expected, list(theirs.parameters()))
    torch.testing.assert_close(loss, expected.detach())
    for mine, other, gradient in zip(ours.parameters(), theirs.parameters(), gradients, strict=True):
        torch.testing.assert_close(mine, other - 0.1 * gradient)
        assert mine.grad is None


def bigram_entropy(pieces: Tensor) -> float:
    """Returns the least loss, in nats a character, of whoever sees only the character before, in these pieces."""
    flat = [(a, b) for piece in pieces.tolist() for a, b in pairwise(piece)]
    pairs, firsts = Counter(flat), Counter(a for a, _ in flat)
    return -sum(n * math.log(n / firsts[a]) for (a, _), n in pairs.items()) / len(flat)


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_gpt_learns_more_than_which_character_follows_which(dtype: torch.dtype) -> None:
    """Below the entropy of pairs is only who looks further back: attention has learned too."""
    torch.manual_seed(0)
    pieces, following = text.batch(8, 32)
    model = gpt.GPT(gpt.Size(len(text.CHARACTERS), context=32, layers=2, heads=4, width=64))
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in range(60):
        loss = training_step(model, optimizer, pieces, following, dtype)
    assert loss < bigram_entropy(torch.cat([pieces, following[:, -1:]], 1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_resnet_learns_a_batch_by_heart(dtype: torch.dtype) -> None:
    """Noise has no classes to be learned but by heart: below the loss of guessing at random is only who trains."""
    torch.manual_seed(0)
    images, classes = resnet.batch(4)
    images = images[..., ::2, ::2]  # a processor without units for bfloat16 takes a thousand times as long
    model = resnet.ResNet18()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    for _ in range(6):
        loss = training_step(model, optimizer, images, classes, dtype)
    assert loss < 0.3 * math.log(10)
    assert all(p.dtype == torch.float32 for p in model.parameters())
