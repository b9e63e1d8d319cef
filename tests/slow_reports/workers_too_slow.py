"""Three workers decode more slowly than the model trains, so every third batch has to be waited for.

As reported: 数据加载用了num_workers=3，打印每个iteration的时间，大部分只有几毫秒，但是每隔几个就有一个要0.25秒左右，
很有规律。改成4个worker，间隔也跟着变成4。CPU和内存都没有占满，模型本身很小。请问是显卡的问题还是DataLoader的bug？
Source: https://github.com/zisianw/FaceBoxes.PyTorch/issues/10
and https://github.com/QitaoZhao/ContextAware-PoseFormer/issues/5
"""

from __future__ import annotations

import time
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

LEAF = "slow-nth"
TIMED = True
WORKERS = 3
DECODING_S = 0.06
"""Seconds for which a worker waits for each picture; a batch holds four."""


class Faces(Dataset[dict[str, Tensor]]):
    """Pictures with the corners of a box; either decoded at each access or once beforehand."""

    def __init__(self, decode: bool) -> None:
        self.decode = decode
        self.pictures = torch.rand(72, 1, 24, 24)

    def __len__(self) -> int:
        return len(self.pictures)

    def __getitem__(self, number: int) -> dict[str, Tensor]:
        if self.decode:
            time.sleep(DECODING_S)
        picture = self.pictures[number]
        return {"image": picture, "box": picture[0, :2, :2].flatten()}


def program(fault: bool = True) -> dict[str, Any]:
    torch.manual_seed(0)
    device = torch.device("cpu")
    model = nn.Sequential(nn.Conv2d(1, 8, 5, stride=3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 49, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Faces(decode=fault), batch_size=4, num_workers=WORKERS)
    batch = torch.utils.data.default_collate([Faces(decode=False)[i] for i in range(4)])

    def step(batch: dict[str, Tensor] = batch) -> Tensor:
        optimizer.zero_grad(set_to_none=True)
        loss = nn.functional.smooth_l1_loss(model(batch["image"].to(device)), batch["box"].to(device))
        loss.backward()
        optimizer.step()
        return loss.detach()

    return {
        "torch": torch, "model": model, "device": device, "optimizer": optimizer,
        "batch": batch, "step": step, "loader": loader,
    }  # fmt: skip
