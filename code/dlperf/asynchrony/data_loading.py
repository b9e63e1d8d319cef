"""Loading ahead: examples that have to be fetched and decompressed, in line with the work or by a worker process.

The chapter *Asynchronous computation* tells the story.
"""

from __future__ import annotations

import bz2
from collections.abc import Callable, Iterable
from itertools import islice
from time import perf_counter, sleep
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.turns import interleave


class Packed(Dataset):
    """``items`` examples, each ``numbers`` float32 numbers that have to be fetched and decompressed.

    Fetching stands for a disk or a network: it sleeps for ``latency`` seconds. Decompressing keeps a core busy.
    """

    def __init__(self, items: int, numbers: int = 2**17, latency: float = 0.0, seed: int = 0) -> None:
        values = np.random.default_rng(seed).integers(0, 16, numbers).astype(np.float32)
        self.items, self.latency, self.data = items, latency, bz2.compress(values.tobytes())

    def __len__(self) -> int:
        return self.items

    def __getitem__(self, i: int) -> torch.Tensor:
        sleep(self.latency)
        return torch.frombuffer(bytearray(bz2.decompress(self.data)), dtype=torch.float32)


def seconds_per_item(loader: Iterable[torch.Tensor], work: Callable[[torch.Tensor], object], skip: int = 3) -> float:
    """Returns the mean seconds in which ``work`` gets through an item of ``loader``, the first ``skip`` aside.

    The clock stops at the last item: a loader's workers end only then, which is no item's doing. Raises ValueError
    where there are no others.
    """
    items = iter(loader)
    for x in islice(items, skip):
        work(x)
    start, times = perf_counter(), list[float]()
    for x in items:
        work(x)
        times.append(perf_counter())
    if not times:
        raise ValueError(f"a loader needs more items than the {skip} that are skipped")
    return (times[-1] - start) / len(times)


def in_line_and_ahead(
    work: Callable[[torch.Tensor], object], items: int = 12, repeats: int = 5, **options: Any
) -> dict[str, Measurement]:
    """Returns seconds per item: ``load`` and ``compute`` alone, ``in line``, and with one loader ``worker`` process.

    The sides are taken in turn, after one turn that warms up. ``options`` are those of `Packed`.
    """
    data = Packed(items, **options)
    one = [data[0]] * items
    sides: dict[str, Callable[[], float]] = {
        "load": lambda: seconds_per_item(DataLoader(data, batch_size=None), lambda x: None),
        "compute": lambda: seconds_per_item(one, work),
        "in line": lambda: seconds_per_item(DataLoader(data, batch_size=None), work),
        "worker": lambda: seconds_per_item(DataLoader(data, batch_size=None, num_workers=1), work),
    }
    taken, env = interleave(sides, repeats), environment()
    return {name: times.measurement(float, "s", name, items, env) for name, times in taken.items()}
