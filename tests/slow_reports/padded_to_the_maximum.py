"""All sentences are padded to the longest that the model allows, not to the longest of their batch.

As reported: my texts are tweets, twenty words or so, and still fine-tuning takes as long as a colleague's on whole
articles. Batch size, model and GPU are the same. The tokenizer call is copied from a tutorial.
Source: https://github.com/huggingface/transformers/issues/3634 and
https://github.com/lonePatient/BERT-NER-Pytorch/issues/56
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader

LEAF = "slow-waste"
TIMED = False
MAXIMUM = 256


class Collator:
    def __init__(self, to_maximum: bool) -> None:
        self.to_maximum = to_maximum

    def __call__(self, samples: list[dict[str, Any]]) -> dict[str, Tensor]:
        length = MAXIMUM if self.to_maximum else max(len(s["input_ids"]) for s in samples)
        ids = torch.zeros(len(samples), length, dtype=torch.long)
        for row, sample in zip(ids, samples, strict=True):
            row[: len(sample["input_ids"])] = sample["input_ids"]
        return {
            "input_ids": ids,
            "attention_mask": (ids > 0).long(),
            "labels": torch.tensor([s["label"] for s in samples]),
        }


class Classifier(nn.Module):
    """An encoder that returns its loss when it gets labels."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(1000, 32, padding_idx=0), nn.Embedding(MAXIMUM, 32)
        layer = nn.TransformerEncoderLayer(32, nhead=4, dim_feedforward=64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.head = nn.Linear(32, 2)

    def forward(self, input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        x = self.tokens(input_ids) + self.places(torch.arange(input_ids.shape[1], device=input_ids.device))
        logits = self.head(self.encoder(x, src_key_padding_mask=attention_mask == 0)[:, 0])
        return nn.functional.cross_entropy(logits, labels), logits


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    lengths = torch.randint(12, 30, (12 * 8,)).tolist()
    data: Any = [{"input_ids": torch.randint(1, 1000, (n,)), "label": n % 2} for n in lengths]
    loader = DataLoader(data, batch_size=8, shuffle=True, collate_fn=Collator(fault))
    batch = next(iter(loader))

    def step(batch: dict[str, Tensor] = batch) -> Tensor:
        loss, _ = model(**{name: part.to(device) for name, part in batch.items()})
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader,
    }  # fmt: skip


def shows(names: dict[str, Any]) -> bool:
    """Whether most of what the loader delivers is padding."""
    real = torch.cat([batch["attention_mask"].flatten() for batch in names["loader"]])
    return real.float().mean().item() < 0.5
