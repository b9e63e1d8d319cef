"""Loading ahead: images that have to be fetched or decoded, in line with the step or by a worker process.

The chapter *Asynchronous computation* tells the story.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from io import BytesIO
from itertools import islice
from time import perf_counter, sleep
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.models import resnet
from dlperf.turns import interleave

Example = tuple[Tensor, Tensor]
"""An image, float32 of shape (3, 32, 32), and its class."""

AHEAD = 2
"""So many batches does a worker of a `DataLoader` load ahead, unless it is told otherwise."""


class Fetched(Dataset):
    """Images that a server hands out: a mini-batch takes ``latency`` seconds.

    Meanwhile the process sleeps; no core is kept busy.
    """

    def __init__(self, number: int, latency: float) -> None:
        self.images, self.classes = resnet.batch(number)
        self.latency = latency

    def __len__(self) -> int:
        return len(self.images)

    def __getitems__(self, indices: Sequence[int]) -> list[Example]:
        sleep(self.latency)
        return [(self.images[i], self.classes[i]) for i in indices]


class Photos(Dataset):
    """Photos, JPEG files in memory, that are decoded and made small."""

    def __init__(self, number: int, side: int) -> None:
        self.files = [photo(side)] * number

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, i: int) -> Example:
        with Image.open(BytesIO(self.files[i])) as file:
            small = file.convert("RGB").resize((32, 32))
        image = torch.from_numpy(np.array(small)).permute(2, 0, 1) / 255
        return image, torch.tensor(i % 10)


def photo(side: int, seed: int = 0) -> bytes:
    """Returns a JPEG file of ``side`` by ``side`` points, whose colours change every eight points, as smoothly."""
    colors = np.random.default_rng(seed).integers(0, 256, (max(1, side // 8), max(1, side // 8), 3), dtype=np.uint8)
    file = BytesIO()
    Image.fromarray(colors).resize((side, side), Image.Resampling.BICUBIC).save(file, "JPEG", quality=90)
    return file.getvalue()


def seconds_per_item(
    loader: Iterable[Any], work: Callable[[Any], object], skip: int = 1, last: int = 0, most: int | None = None
) -> float:
    """Returns the mean seconds in which ``work`` gets through an item of ``loader``, of ``most`` at most.

    The first ``skip`` and the ``last`` are not counted: those the workers had loaded before the clock started, and
    beside these they load nothing. The clock stops at the last item that counts: a loader's workers end only after
    all, which is no item's doing. Raises ValueError where no item is left.
    """
    items = islice(loader, most)
    for x in islice(items, skip):
        work(x)
    start, times = perf_counter(), list[float]()
    for x in items:
        work(x)
        times.append(perf_counter())
    counted = times[: len(times) - last]
    if not counted:
        raise ValueError(f"a loader needs more items than the {skip + last} that are not counted")
    return (counted[-1] - start) / len(counted)


def in_line_and_ahead(
    step: Callable[..., object], sets: Mapping[str, Dataset], size: int, spare: str = "", repeats: int = 5
) -> dict[str, Measurement]:
    """Returns seconds per mini-batch of ``size``: of the ``step`` alone, and of each of ``sets`` in three ways.

    Named ``fetched load`` and so on: ``load`` without a step, ``in line`` with it, and with one ``worker`` process.
    The set named ``spare`` has a fourth, ``spared``: with that worker, and a thread less for the step. The sides are
    taken in turn: of a set in line three mini-batches, with a worker all, of which the first three and as many at the
    end as are loaded ahead do not count. ``step`` takes what the loader gives, and waits until it is done.
    """
    work = lambda batch: step(*batch)
    sides: dict[str, Callable[[], float]] = {}
    for name, data in sets.items():
        in_line, worker = partial(DataLoader, data, size), partial(DataLoader, data, size, num_workers=1)
        batches = [next(iter(in_line()))] * 3
        sides["step"] = partial(seconds_per_item, batches, work)
        sides[f"{name} load"] = partial(_taken, in_line, lambda batch: None, most=3)
        sides[f"{name} in line"] = partial(_taken, in_line, work, most=3)
        sides[f"{name} worker"] = partial(_taken, worker, work, skip=3, last=AHEAD)
        if name == spare:
            fewer = max(1, torch.get_num_threads() - 1)
            sides[f"{name} spared"] = partial(with_threads, fewer, sides[f"{name} worker"])
    taken, env = interleave(sides, repeats, warm_up=0), environment()
    return {name: times.measurement(float, "s", name, environment=env) for name, times in taken.items()}


def _taken(make: Callable[[], Iterable[Any]], work: Callable[[Any], object], **counted: int) -> float:
    """Returns `seconds_per_item` of a new loader."""
    return seconds_per_item(make(), work, **counted)


def with_threads(number: int, call: Callable[[], float]) -> float:
    """Returns what ``call`` does while PyTorch's operators have so many threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        return call()
    finally:
        torch.set_num_threads(before)
