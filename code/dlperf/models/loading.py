"""Pieces of the text that have to be fetched one by one, as from a disk or over a network.

The page *Why is my training slow?* tells a loader that keeps a step waiting from one that does not.
"""

from __future__ import annotations

from time import sleep

from torch import Tensor
from torch.utils.data import Dataset

from dlperf.models import text


class Fetched(Dataset):
    """``pieces`` pieces of the excerpt, each with the characters that follow: two of int64, of shape (time,).

    To fetch one takes ``latency`` seconds, in which the process sleeps: no core is kept busy.
    """

    def __init__(self, pieces: int, time: int, latency: float = 0.0) -> None:
        self.inputs, self.targets = text.batch(pieces, time)
        self.latency = latency

    def __len__(self) -> int:
        return len(self.inputs)

    def __getitem__(self, i: int) -> tuple[Tensor, Tensor]:
        sleep(self.latency)
        return self.inputs[i], self.targets[i]
