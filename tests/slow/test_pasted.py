"""The cells of *Why is my training slow?*, pasted into programs whose models are not the book's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader

from booktools.notebook import code_cells, read_page

PAGE = Path(__file__).parents[2] / "chapters/en/slow.md"
OWN = "def step("  # the cell in whose place a reader puts their own
SHOWN = "Fetched("  # what the page shows of its own loaders, for want of the reader's
Names = dict[str, Any]


class Residual(nn.Module):
    """A small ResNet: convolutions and batch normalization, with a sum around them."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 9, 3, padding=1)
        self.block = nn.Sequential(nn.BatchNorm2d(9), nn.ReLU(), nn.Conv2d(9, 9, 3, padding=1))
        self.head = nn.Linear(9, 5)

    def forward(self, images: Tensor) -> Tensor:
        x = self.stem(images)
        return self.head((x + self.block(x)).mean((2, 3)))


class Recurrent(nn.Module):
    """An LSTM whose last state is a number."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(3, 10, batch_first=True)
        self.head = nn.Linear(10, 1)

    def forward(self, series: Tensor) -> Tensor:
        states, _ = self.lstm(series)
        return self.head(states[:, -1]).squeeze(1)


class WithLoss(nn.Module):
    """A network that returns its loss, and takes its targets by name."""

    def __init__(self) -> None:
        super().__init__()
        self.embedded, self.head = nn.Embedding(11, 7), nn.Linear(7, 11)

    def forward(self, words: Tensor, labels: Tensor) -> dict[str, Tensor]:
        scores = self.head(self.embedded(words))
        return {"loss": F.cross_entropy(scores.flatten(0, 1), labels.flatten()), "scores": scores}


def program(model: nn.Module, data: Any, loss: Callable[[nn.Module, Any], Tensor], size: int) -> Names:
    """Returns what the page asks a reader to bring, and a ``loader`` of their own."""
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(data, size)
    batch = next(iter(loader))

    def step(batch: Any = batch) -> Tensor:
        optimizer.zero_grad()
        lost = loss(model, batch)
        lost.backward()
        optimizer.step()
        return lost.detach()

    return {
        "torch": torch,
        "model": model,
        "device": torch.device("cpu"),
        "batch": batch,
        "step": step,
        "loader": loader,
    }


def images() -> Names:
    data = [(torch.randn(3, 6, 6), torch.tensor(i % 5)) for i in range(24)]
    return program(Residual(), data, lambda net, pair: F.cross_entropy(net(pair[0]), pair[1]), 8)


def series() -> Names:
    """A loader of dicts, one of whose entries is no tensor, and fewer examples than an eighth can be taken of."""
    data = [{"series": torch.randn(4, 3), "target": torch.randn(()), "name": f"row {i}"} for i in range(9)]
    return program(Recurrent(), data, lambda net, each: F.mse_loss(net(each["series"]), each["target"]), 3)


def words() -> Names:
    """A loader with a single batch."""
    data = [{"words": torch.randint(11, (4,)), "labels": torch.randint(11, (4,))} for _ in range(16)]
    return program(WithLoss(), data, lambda net, each: net(**each)["loss"], 16)


def pasted() -> list[str]:
    """Returns the cells that a reader sees, from the first after the one to be replaced."""
    shown = [cell.source for cell in code_cells(read_page(PAGE)) if "hide-input" not in cell.metadata.get("tags", ())]
    [own] = [i for i, source in enumerate(shown) if OWN in source]
    assert own == 0  # nothing that the book's model needs comes with the cells to be pasted
    return shown[1:]


@pytest.fixture
def _as_before() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    assert torch.get_num_threads() == threads  # a pasted cell leaves them alone
    torch.compiler.reset()


@pytest.mark.usefixtures("_as_before")
@pytest.mark.parametrize("own", [images, series, words])
def test_every_cell_runs_on_a_model_that_is_not_the_books(own: Callable[[], Names]) -> None:
    torch.manual_seed(0)
    names = own()
    forward = names["model"].forward
    cells = pasted()
    for source in cells:
        if SHOWN not in source:
            exec(compile(source, PAGE.name, "exec"), names)
    assert sum(SHOWN in source for source in cells) == 1
    assert 0 <= names["waiting"](names["loader"]) <= 1
    assert 0 < names["busy"](names["step"]) <= 1
    assert names["model"].forward == forward
    assert set(names["types"]()) == {"torch.float32"}


def test_a_loader_is_left_after_so_many_steps() -> None:
    names = images()
    for source in pasted():
        if SHOWN not in source and ("def timed" in source or "def waiting" in source):
            exec(compile(source, PAGE.name, "exec"), names)
    taken: list[Any] = []
    names["step"] = taken.append
    names["waiting"](iter(range(1000)), steps=3)
    assert taken == [0, 1, 2, 3]  # the first starts the workers


def test_parts_of_a_mini_batch_keep_its_form() -> None:
    names = series()
    exec(compile(next(s for s in pasted() if "def first" in s), PAGE.name, "exec"), names)
    part = names["first"](1 / 8)
    assert part["series"].shape == (2, 4, 3)
    assert part["target"].shape == (2,)
    assert part["name"] == names["batch"]["name"]
    assert names["first"](1)["series"].equal(names["batch"]["series"])
