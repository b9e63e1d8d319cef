"""What the cells of *Why is my training slow?* say about a program into which they were pasted.

Only what a cell defines is executed, on the names of a program of `tests.slow_reports`; then each instrument is read
as the page says. A finding is the name of the leaf to which that reading leads.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from functools import partial
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any

import torch

from booktools.source.notebook import code_cells, read_page
from dlperf.slow import ranks

PAGE = Path(__file__).parents[1] / "chapters/en/slow.md"
OWN = "def step("  # the cell in whose place readers put their own
Names = dict[str, Any]


def shown() -> list[str]:
    """Returns the sources of the cells that a reader sees, from the first after the one to be replaced."""
    sources = [cell.source for cell in code_cells(read_page(PAGE)) if "hide-input" not in cell.metadata.get("tags", ())]
    assert [n for n, source in enumerate(sources) if OWN in source] == [0]  # no other brings what is the reader's
    return sources[1:]


def define(names: Names) -> None:
    """Adds to a program's names what the cells import and define, and what the page prints for several processes."""
    for source in shown():
        kept = [node for node in ast.parse(source).body if _is_definition(node)]
        exec(compile(ast.Module(kept, []), PAGE.name, "exec"), names)
    for name in ("pace", "sent"):
        exec(inspect.getsource(getattr(ranks, name)), names)
    names.update(dist=torch.distributed, nullcontext=ranks.nullcontext)


def _is_definition(node: ast.stmt) -> bool:
    if isinstance(node, ast.Assign):  # whatever the instruments look at
        return isinstance(node.targets[0], ast.Name) and node.targets[0].id == "on_gpu"
    return isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef))


def epoch(names: Names) -> Callable[[], object]:
    """Returns a program's own epoch, else a loop over its loader."""
    own: Callable[[], object] | None = names.get("epoch")
    return own or partial(names["train"], names["loader"], epochs=1)


def padding(names: Names) -> list[float]:
    """Returns the useful share of a program's token ids, where its model has a table of words with a padding."""
    tables = [each for each in names["model"].modules() if isinstance(each, torch.nn.Embedding)]
    pads = [each.padding_idx for each in tables if each.padding_idx is not None]
    key = "input_ids" if isinstance(names["batch"], dict) else 0
    return [names["useful"](names["loader"], itemgetter(key), pad) for pad in pads[:1]]


def counted(names: Names) -> set[str]:
    """Returns the leaves to which the instruments that count lead, in a program of one process."""
    step = names["step"]
    with names["Operators"]() as mode:
        step()
    numbers = [max((n for _, n in had), default=0) for _, had in mode.seen]
    threads = names["threads"](names["loader"])
    little, graphs = names["unused"](step)
    wide = names["types"]()[1]
    grown = names["growth"](names["loader"], count=3)
    found = {
        "slow-switched": bool(names["settings"]()),
        "slow-host": len(numbers) > 1000 and median(numbers) < 10_000,
        "slow-copies": names["reads"](step) > 1,
        "slow-compiler": names["compiled"](epoch(names)) > 2,
        "slow-threads": threads["operators"] > names["cores"]() or max(threads["workers"], default=0) > 4,
        "slow-waste": bool(graphs or wide)
        or any((share or 0) < 0.1 and n > 1000 for share, n in little.values())
        or any(share < 0.5 for share in padding(names)),
        "slow-grows": grown["graphs"] > 0 or grown["tensors"] > 1,
    }
    return {leaf for leaf, is_so in found.items() if is_so}


def timed(names: Names, epochs: int = 3) -> set[str]:
    """Returns the leaves to which the instruments that clock lead, in a program of one process."""
    one = epoch(names)
    reported: list[object] = []

    def train() -> None:
        reported.extend(one() for _ in range(epochs))

    ticks = names["watched"](train)
    turns = (len(ticks) - 1) // epochs
    seen = names["when"](ticks)
    examples = len(names["tree_leaves"](names["batch"])[0])
    rates = [rate for rate in reported if isinstance(rate, float) and "per second" in (one.__doc__ or "")]
    found = {
        "slow-first": seen["first_turn"] > 10,
        "slow-border": seen["turns_apart"] == turns and seen["lost_share"] > 0.1,
        "slow-nth": 0 < seen["turns_apart"] < turns and seen["lost_share"] > 0.1,
        "slow-later": seen["last_over_first"] > 2,
        "slow-data": names["waiting"](names["loader"]) > 0.5,
        "slow-number": any(not 2 / 3 < rate / names["rate"](ticks, examples) < 1.5 for rate in rates),
    }
    if "switches" in names:
        without, with_it = names["timed"](**names["switches"]).values()
        found["slow-switched"] = median(with_it) > 1.1 * median(without)
    return {leaf for leaf, is_so in found.items() if is_so}
