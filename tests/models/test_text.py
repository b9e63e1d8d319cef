"""The excerpt as numbers and back."""

from __future__ import annotations

import pytest
import torch

from dlperf.models import text


def test_what_is_encoded_is_decoded() -> None:
    assert text.decode(text.encode(text.EXCERPT)) == text.EXCERPT
    with pytest.raises(KeyError, match="é"):
        text.encode("é")


def test_targets_are_what_follows() -> None:
    pieces, following = text.batch(4, 20)
    assert torch.equal(pieces[:, 1:], following[:, :-1])
    for piece, after in zip(pieces, following, strict=True):
        assert text.decode(piece) + text.decode(after)[-1] in text.EXCERPT


def test_another_seed_draws_other_pieces() -> None:
    assert torch.equal(text.batch(4, 20)[0], text.batch(4, 20)[0])
    assert not torch.equal(text.batch(4, 20)[0], text.batch(4, 20, seed=1)[0])
