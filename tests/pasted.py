"""Programs that are not the book's, and which cells of *Why is my training slow?* a reader pastes into them for a leaf.

Which cells those are, the table at the page's beginning says; it is read here, and nowhere written again. Run as a
program in each of two processes, it pastes all leaves into these programs: ``torchrun … -m tests.pasted OUT [LEAF …]``.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

from booktools.source.notebook import read_page
from dlperf.slow import ranks
from tests.diagnosis import OWN, PAGE, Names

TOP = "slow"
"""The label of the page, under which its first cells stand."""
LABEL = re.compile(r"^\((slow[\w-]*)\)=$", re.MULTILINE)
LINK = re.compile(r"\]\(#(slow[\w-]*)\)")
TREE = re.compile(r"^```\{tree\}.*?^```$", re.MULTILINE | re.DOTALL)
TEXTS = re.compile(r"\bFetched\([^()]*\)")
"""The page's own data set, in whose place a reader puts theirs."""
PROCESSES = "slow-processes"
LAUNCHES = "launched.run()"
"""What starts a program of the book's and is not for another one."""


def sections(page: Path = PAGE) -> dict[str, list[str]]:
    """Returns the sources of the cells that a reader sees, by the label of the section in which they stand."""
    label = ""
    found: dict[str, list[str]] = {}
    for cell in read_page(page).cells:
        if cell.cell_type == "markdown":
            for label in LABEL.findall(cell.source):
                found[label] = []
        elif "hide-input" not in cell.metadata.get("tags", ()) and OWN not in cell.source:
            found[label].append(cell.source)
    return found


def _texts(page: Path) -> dict[str, str]:
    """Returns the page's text by label."""
    _, *parts = LABEL.split(page.read_text(encoding="utf-8"))
    return dict(zip(parts[::2], parts[1::2], strict=True))


def needs(page: Path = PAGE) -> dict[str, list[str]]:
    """Returns for each leaf the sections whose cells a reader pastes before the leaf's own, as the page's table says.

    A leaf is every section with cells below the first. Raises ValueError at a row that names none.
    """
    texts = _texts(page)
    leaves = [label for label, cells in sections(page).items() if cells and label != TOP]
    rows = re.findall(r"^\| (.+) \| (.+) \|$", texts[TOP], re.MULTILINE)
    found: dict[str, list[str]] = {leaf: [] for leaf in leaves}
    for whose, what in rows[1:]:  # after the table's head
        owners, given = LINK.findall(whose), LINK.findall(what)
        if not owners:
            given, owners = [TOP, *given], leaves
        elif tree := TREE.search(texts[owners[0]]):  # all below a section, and what stands in it
            given, owners = given or owners, [each for each in LINK.findall(tree[0]) if each in found]
        if not given or not owners:
            raise ValueError(f"{page}: {whose} | {what}: names no leaf, or no section whose cells it needs")
        for leaf in owners:
            found[leaf] += [each for each in given if each != leaf]
    return found


def paste(sources: Iterable[str], names: Names) -> None:
    """Executes cells on a program's names, with its data set in place of the page's."""
    for source in sources:
        if LAUNCHES not in source:
            exec(compile(TEXTS.sub("data", source), PAGE.name, "exec"), names)


class Pasted:
    """A program into which leaves are pasted, each after the cells that it needs and no others.

    What several leaves need is executed once; what a leaf itself defines, the next does not see.
    """

    def __init__(self, names: Names) -> None:
        self.names, self.sections, self.needs = names, sections(), needs()
        self.before: dict[tuple[str, ...], Names] = {}

    def leaf(self, label: str, after: Iterable[str] | None = None, only: re.Pattern[str] | None = None) -> Names:
        """Executes a leaf's cells, or those in which something is found; returns its names."""
        key = tuple(self.needs[label] if after is None else after)
        names = dict(self._after(key))
        paste((source for source in self.sections[label] if only is None or only.search(source)), names)
        return names

    def _after(self, key: tuple[str, ...]) -> Names:
        if not key:
            return self.names
        if key not in self.before:
            self.before[key] = dict(self._after(key[:-1]))
            paste(self.sections[key[-1]], self.before[key])
        return self.before[key]


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


def program(
    model: nn.Module, data: Any, loss: Callable[[nn.Module, Any], Tensor], size: int, device: str = "cpu"
) -> Names:
    """Returns what the page asks a reader to bring, and a ``loader`` and a data set of their own."""
    model = model.to(device)
    if torch.distributed.is_initialized():
        model = DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters())
    loader = DataLoader(data, size)
    batch = next(iter(loader))

    def moved(part: Any) -> Any:
        return part.to(device) if isinstance(part, Tensor) else part

    def step(batch: Any = batch) -> Tensor:
        optimizer.zero_grad()
        lost = loss(model, torch.utils._pytree.tree_map(moved, batch))
        lost.backward()
        optimizer.step()
        return lost.detach()

    return {
        "torch": torch,
        "model": model,
        "optimizer": optimizer,
        "device": torch.device(device),
        "batch": batch,
        "step": step,
        "loader": loader,
        "data": data,
    }


def images(device: str = "cpu") -> Names:
    data = [(torch.randn(3, 6, 6), torch.tensor(i % 5)) for i in range(24)]
    return program(Residual(), data, lambda net, pair: F.cross_entropy(net(pair[0]), pair[1]), 8, device)


def series(device: str = "cpu") -> Names:
    """A loader of dicts, one of whose entries is no tensor, and fewer examples than an eighth can be taken of."""
    data = [{"series": torch.randn(4, 3), "target": torch.randn(()), "name": f"row {i}"} for i in range(9)]
    return program(Recurrent(), data, lambda net, each: F.mse_loss(net(each["series"]), each["target"]), 3, device)


def words(device: str = "cpu") -> Names:
    """A loader with a single batch."""
    data = [{"words": torch.randint(11, (4,)), "labels": torch.randint(11, (4,))} for _ in range(16)]
    return program(WithLoss(), data, lambda net, each: net(**each)["loss"], 16, device)


PROGRAMS: dict[str, Callable[..., Names]] = {"images": images, "series": series, "words": words}
TRAINS = re.compile(r"\b(step|model|loader|batch|train)\b")
"""What tells a cell that has to do with the program from one that only times a product or a copy."""


def main(out: Path, *leaves: str) -> None:
    """Pastes leaves, else all, into each program, on all ranks at once, and then what the page prints for several."""
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo")
    found: dict[str, Any] = {}
    for name, own in PROGRAMS.items():
        torch.manual_seed(0)
        pasted = Pasted(own())
        some = leaves or list(pasted.needs)
        for leaf in some:
            pasted.leaf(leaf, only=TRAINS)
        names = pasted.leaf(PROCESSES)
        exec("import torch.distributed as dist", names)  # as the page says
        paste((inspect.getsource(getattr(ranks, each)) for each in ("pace", "sent")), names)
        pace = names["pace"](names["step"], names["model"], steps=2)
        found[name] = {"leaves": some, "pace": pace, "sent": names["sent"](names["step"], names["model"])}
    if torch.distributed.get_rank() == 0:
        out.write_text(json.dumps(found), encoding="ascii")
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
