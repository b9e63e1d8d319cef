"""The small GPT against PyTorch's own encoder layer, and against GPT-2's published number of parameters."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from dlperf.models import gpt

SIZE = gpt.Size(vocabulary=50, context=16, layers=2, heads=4, width=32)


def test_in_the_sizes_of_gpt_2_it_has_its_number_of_parameters() -> None:
    with torch.device("meta"):
        model = gpt.GPT(gpt.Size(vocabulary=50257, context=1024, layers=12, heads=12, width=768))
    assert sum(p.numel() for p in model.parameters()) == 124_439_808


def test_a_block_is_the_encoder_layer_of_pytorch_with_a_causal_mask() -> None:
    ours = gpt.Block(SIZE)
    theirs = nn.TransformerEncoderLayer(
        SIZE.width, SIZE.heads, 4 * SIZE.width, dropout=0, activation="gelu", batch_first=True, norm_first=True
    )
    norm, attention = ours.attention
    norm2, wide, _, narrow = ours.perceptron
    pairs = {
        norm.weight: theirs.norm1.weight,
        norm.bias: theirs.norm1.bias,
        attention.project.weight: theirs.self_attn.in_proj_weight,
        attention.project.bias: theirs.self_attn.in_proj_bias,
        attention.output.weight: theirs.self_attn.out_proj.weight,
        attention.output.bias: theirs.self_attn.out_proj.bias,
        norm2.weight: theirs.norm2.weight,
        norm2.bias: theirs.norm2.bias,
        wide.weight: theirs.linear1.weight,
        wide.bias: theirs.linear1.bias,
        narrow.weight: theirs.linear2.weight,
        narrow.bias: theirs.linear2.bias,
    }
    assert len(pairs) == len(list(ours.parameters())) == len(list(theirs.parameters()))
    with torch.no_grad():
        for mine, other in pairs.items():
            other.copy_(nn.init.normal_(mine, std=0.3))
    x = torch.randn(3, 10, SIZE.width)
    mask = nn.Transformer.generate_square_subsequent_mask(10)
    torch.testing.assert_close(ours(x), theirs(x, src_mask=mask, is_causal=True))


def test_no_character_sees_those_that_follow() -> None:
    model = gpt.GPT(SIZE)
    text = torch.randint(SIZE.vocabulary, (1, 16))
    changed = text.clone()
    changed[0, 9:] = (changed[0, 9:] + 1) % SIZE.vocabulary
    before, after = model(text), model(changed)
    torch.testing.assert_close(before[0, :9], after[0, :9])
    assert not torch.isclose(before[0, 9:], after[0, 9:]).all(-1).any()


def test_it_multiplies_two_per_weight_and_character_and_what_attention_adds() -> None:
    batch, time = 3, 16
    with torch.device("meta"), FlopCounterMode(display=False) as counter:
        gpt.GPT(SIZE)(torch.empty(batch, time, dtype=torch.long))
    weights = SIZE.layers * 12 * SIZE.width**2 + SIZE.vocabulary * SIZE.width
    attention = SIZE.layers * 2 * 2 * batch * time**2 * SIZE.width  # scores, and their use
    assert counter.get_total_flops() == 2 * batch * time * weights + attention


def test_what_cannot_be_is_said() -> None:
    with pytest.raises(ValueError, match="30 is no multiple of 4"):
        gpt.Size(vocabulary=50, context=16, layers=2, heads=4, width=30)
    with pytest.raises(ValueError, match="at most 16 characters, got 17"):
        gpt.GPT(SIZE)(torch.zeros(1, 17, dtype=torch.long))
