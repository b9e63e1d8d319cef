"""GPT-2, Llama and BERT as a library defines them: counted, timed and predicted. What comes out judges nothing."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

import pytest
import torch
import transformers
from torch.utils.flop_counter import FlopCounterMode

from dlperf.measuring import prediction
from dlperf.models.cost import operators

WORDS, LENGTH = 1000, 64


def shared(width: int) -> dict[str, int]:
    """Returns what Llama's and BERT's configurations of a width have in common."""
    sizes = {"hidden_size": width, "num_hidden_layers": 2, "num_attention_heads": width // 32}
    return {"vocab_size": WORDS, "max_position_embeddings": LENGTH, **sizes}


CONFIGURATIONS: dict[str, tuple[Callable[..., torch.nn.Module], Callable[[int], transformers.PretrainedConfig]]] = {
    "GPT-2": (
        transformers.GPT2LMHeadModel,
        lambda width: transformers.GPT2Config(
            vocab_size=WORDS, n_positions=LENGTH, n_embd=width, n_layer=2, n_head=width // 32
        ),
    ),
    "Llama": (
        transformers.LlamaForCausalLM,
        lambda width: transformers.LlamaConfig(
            **shared(width), intermediate_size=3 * width, num_key_value_heads=width // 64
        ),
    ),
    "BERT": (
        transformers.BertForMaskedLM,
        lambda width: transformers.BertConfig(**shared(width), intermediate_size=4 * width),
    ),
}
"""By name, a model and its configuration of a width, with weights at random: nothing is fetched."""


def training_step(name: str, width: int) -> Callable[[], None]:
    torch.manual_seed(0)
    model, configuration = CONFIGURATIONS[name]
    net = model(configuration(width))
    optimizer = torch.optim.AdamW(net.parameters())
    words = torch.randint(WORDS, (4, LENGTH))

    def step() -> None:
        optimizer.zero_grad()
        net(input_ids=words, labels=words).loss.backward()
        optimizer.step()

    return step


@pytest.mark.parametrize("width", [64, 512])
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_a_step_is_counted_as_pytorch_counts_it_and_predicted(
    name: str, width: int, capsys: pytest.CaptureFixture[str]
) -> None:
    step = training_step(name, width)
    step()
    ops = operators(step)
    with FlopCounterMode(display=False) as counter:
        step()
    attention = sum(op.flops for op in ops if "attention" in op.name)  # on a CPU PyTorch's counter leaves it out
    assert sum(op.flops for op in ops) - attention == counter.get_total_flops()
    steps, alone = prediction.in_turn(step, ops, "cpu", repeats=5, limit=60)
    seconds, took = prediction.typical(alone), median(steps)
    whole = sum(prediction.by_phase(ops, seconds).values())
    assert 0 < whole < 60
    with capsys.disabled():
        print(f"\n{name}, width {width}: {1e3 * took:.1f} ms, {len(ops)} operators, alone / step {whole / took:.2f}")
