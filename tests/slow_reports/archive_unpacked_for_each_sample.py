"""Each access to a sample unpacks the whole compressed archive.

As reported: the GPU is at 3 %, whatever I do to the model. I even took half of the layers out and the time per
iteration stayed the same. My data set is a single npz file that I made with savez_compressed, and it is not big.
Source: https://github.com/Dana-Farber-AIOS/pathml/issues/131 (there, HDF5 opened for each sample)
"""

from __future__ import annotations

import io
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

LEAF = "slow-data"
TIMED = True


@cache
def packed() -> bytes:
    """The archive as it lies on the disk."""
    file, random = io.BytesIO(), np.random.default_rng(0)
    x = random.integers(0, 255, (1000, 512), dtype=np.int64)
    np.savez_compressed(file, x=x, y=random.integers(0, 5, 1000))
    return file.getvalue()


class Spectra(Dataset[tuple[Tensor, Tensor]]):
    def __init__(self, fault: bool) -> None:
        self.file = io.BytesIO(packed())
        self.data = None if fault else dict(self.load())

    def load(self) -> Any:
        self.file.seek(0)
        return np.load(self.file)

    def __len__(self) -> int:
        return 64

    def __getitem__(self, number: int) -> tuple[Tensor, Tensor]:
        data = self.load() if self.data is None else self.data
        return torch.from_numpy(data["x"][number] / 255).float(), torch.as_tensor(data["y"][number])


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    model = nn.Sequential(
        nn.Unflatten(1, (1, 512)), nn.Conv1d(1, 8, 9, stride=4), nn.ReLU(), nn.Conv1d(8, 16, 9, stride=4), nn.ReLU(),
        nn.Flatten(), nn.LazyLinear(5),
    )  # fmt: skip
    loader = DataLoader(Spectra(fault), batch_size=4, shuffle=True)
    batch = next(iter(loader))
    model(batch[0])
    optimizer = torch.optim.NAdam(model.parameters())
    criterion = nn.CrossEntropyLoss()

    def step(batch: list[Tensor] = batch) -> Tensor:
        inputs, labels = (part.to(device, non_blocking=True) for part in batch)
        optimizer.zero_grad()
        loss = criterion(model(inputs), labels)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader,
    }  # fmt: skip
