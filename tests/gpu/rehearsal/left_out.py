"""Cells that no simulated GPU rehearses where `make short` has executed them: they take long and use no GPU.

What they store for the page is taken from that execution, as is what the cells store that need them. A cell is named
by its page and its first line. `tests/long/gpu` rehearses these pages whole, and fails if such a cell uses a GPU.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nbformat import NotebookNode
from rehearsal.selection import dependents

from dlperf.records import MIME, PREFIX


@dataclass(frozen=True)
class Page:
    """The first lines of a page's cells that are not rehearsed, why, and what they may take from cells that use a GPU.

    ``given`` are names of what is no GPU's, though a cell binds them that asks how many GPUs there are.
    """

    because: str
    cells: tuple[str, ...]
    given: frozenset[str] = frozenset()


NOT_REHEARSED = {
    "concise": Page(
        "scripts train on processes and hosts, whatever GPUs there are: 250 s",
        (
            'one = rungs.run("python one.py --epochs 1 --width 128", seen=True)',
            'launch = "torchrun --standalone --nproc-per-node 2"',
            "pieces = rungs.run(",
            "link = measure_link(crew)",
            'script = "ddp.py --epochs 1 --width 128"',
            'script = "sharded.py --epochs 1 --width 128 --pieces 1"',
            "killed = rungs.run_killed(",
            'wrapping = "torch.distributed.algorithms._checkpoint.checkpoint_wrapper"',
            "from dlperf.concise import twins",
        ),
        frozenset({"keep", "crew"}),  # two hosts, which are processes of this machine
    ),
    "compilers": Page(
        "small networks and functions are compiled for a processor, packed, and loaded by a program in C++: 130 s",
        (
            "def our_own(fn, x):",
            "trained, folder = compilation.mlp(), Path(tempfile.mkdtemp())",
            "net, rows = torch.nn.Linear(128, 512), torch.randn(2048, 128)",
            "def exponentials(x):",
        ),
        frozenset({"rows", "ways", "pair", "written"}),  # bound anew where they are read
    ),
    "measuring": Page(
        "additions on one core and on several, and a processor's calls in a new process: 35 s",
        ("serial, parallel = 100_000, 900_000", 'decompose = "lambda: p.torch.linalg.svd(p.torch.ones(32, 32))"'),
    ),
    "multigpu": Page(
        "processes, of which each would have a GPU on a machine with eight, train LeNet: 25 s",
        ("from dlperf.multigpu import datasets, lenet",),
        frozenset({"eight", "slow"}),  # a crew of eight, and a link between hosts
    ),
    "parallel": Page(
        "operators of a processor, on one thread and on several: 20 s",
        ("pairs = {name: operators.paired(s, threads) for name, s in nets.items()}",),
    ),
    "servers": Page(
        "messages between processes and hosts, and one of them killed: 170 s",
        (
            "config = local.config(servers=2, workers=1)",
            'record("servers.asked", drawings_scale.table((4, 64, 4096)))',
            "S, shapes = 2**23, None",
            "sizes = [2**n for n in (12, 15, 18, 20, 23, 24)]",
            "levels, tried = None, (2**12, 2**18, S)",
            "layouts = {",
            "ciphers = None",
            "seconds, dense = 3.0, {}",
            "lived = {1.5: live.on_this_machine(dead=1.5)}",
            "rounds = locking.measured(trainers=4, steps=3)",
            "from dlperf.servers import pipelined",
            "from dlperf.servers import hogwild, sparse_data",
        ),
        frozenset({"way"}),  # bound anew where it is read
    ),
    "slow": Page(
        "processes that torchrun starts on this machine: 60 s",
        ("from dlperf.slow import launched",),
        frozenset({"here"}),  # says which machine it is
    ),
}
"""By page; seconds are those of the cells on one simulated GPU, on two cores beside other work."""


def named(page: str, cells: list[str]) -> set[int]:
    """Returns the numbers of the cells of a page that are named; ValueError says which name fits none or several."""
    firsts, found = [cell.strip().partition("\n")[0] for cell in cells], set[int]()
    for first in NOT_REHEARSED[page].cells if page in NOT_REHEARSED else ():
        if firsts.count(first) != 1:
            raise ValueError(f"{page} has {firsts.count(first)} cells that begin with {first!r}, not one")
        found.add(firsts.index(first))
    return found


def left_out(page: str, cells: list[str]) -> set[int]:
    """Returns the numbers of the cells that are not rehearsed: those that are named, and those that need them."""
    return dependents(cells, named(page, cells))


def as_if_rehearsed(executed: Mapping[int, NotebookNode], environment: dict[str, Any]) -> dict[int, NotebookNode]:
    """Returns executed cells as the machine of the rehearsal would have stored them, which has this ``environment``."""
    found = {}
    for number, cell in executed.items():
        found[number] = copied = copy.deepcopy(cell)
        for output in copied.outputs:
            if stored := output.get("data", {}).get(PREFIX + MIME):
                content = json.loads(stored) if isinstance(stored, str) else stored
                output.data[PREFIX + MIME] = _with(environment, content)
    return found


def _with(environment: dict[str, Any], content: Any) -> Any:
    """Returns a record's content with another environment wherever it has one."""
    if isinstance(content, dict):
        return {
            name: environment if name == "environment" and value else _with(environment, value)
            for name, value in content.items()
        }
    return [_with(environment, each) for each in content] if isinstance(content, list) else content
