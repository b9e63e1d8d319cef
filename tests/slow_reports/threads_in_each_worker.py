"""Each worker of the loader augments with a pool of as many threads as twice the cores.

As reported: 八核服务器上训练分割网络，num_workers设成8以后整台机器都卡，ssh都登不上，top里load average上百，
但是训练速度比num_workers=2还慢。数据增强用的图像库，代码里没有开过线程。把num_workers调小反而变快，请问是什么原因？
Source: https://github.com/open-mmlab/mmdetection/pull/6867 and https://github.com/PaddlePaddle/PaddleSeg/pull/2640
"""

from __future__ import annotations

import os
from multiprocessing.pool import ThreadPool
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

LEAF = "slow-threads"
TIMED = False


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Filter:
    """An image library: it filters stripes of an image in threads of its own, unless told to use none."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self.pool: ThreadPool | None = None

    def __call__(self, image: Tensor) -> Tensor:
        if self.threads == 0:
            return self.stripe(image)
        self.pool = self.pool or ThreadPool(self.threads)
        return torch.cat(self.pool.map(self.stripe, image.chunk(self.threads, dim=1)), dim=1)

    @staticmethod
    def stripe(part: Tensor) -> Tensor:
        return (part - part.mean(dim=2, keepdim=True)).clamp(-1, 1)


class Scenes(Dataset[tuple[Tensor, Tensor]]):
    def __init__(self, augment: Filter) -> None:
        self.augment = augment
        self.images = torch.rand(48, 3, 32, 32)

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, number: int) -> tuple[Tensor, Tensor]:
        image = self.augment(self.images[number])
        return image, (image.sum(0) > 0).long()


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    model = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 2, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = DataLoader(Scenes(Filter(2 * cores() if fault else 0)), batch_size=4, num_workers=2)
    batch = [torch.rand(4, 3, 32, 32), torch.randint(2, (4, 32, 32))]

    def step(batch: list[Tensor] = batch) -> Tensor:
        images, masks = batch
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), masks)
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader,
    }  # fmt: skip


def shows(names: dict[str, Any]) -> bool:
    """Whether the library works with threads of its own in a loader that has workers already."""
    loader = names["loader"]
    image = loader.dataset.augment(torch.rand(3, 8, 8))
    pool = loader.dataset.augment.pool
    threads = 0 if pool is None else len(pool._pool)
    if pool is not None:
        pool.terminate()
        loader.dataset.augment.pool = None
    return image.shape == (3, 8, 8) and loader.num_workers * threads > cores()
