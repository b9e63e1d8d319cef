"""The rehearsal on two GPUs executes the cells that use a GPU, and what they need."""

from __future__ import annotations

import pytest
from rehearsal.selection import needed

from tests.gpu.conftest import PAGES, Rehearsals


@pytest.mark.parametrize(
    ("cells", "used", "kept"),
    [
        (["x = 1", "y = 2", "print(x)"], {2}, {0, 2}),
        (["x = 1", "y = x", "print(y)"], {2}, {0, 1, 2}),  # through another
        (["x = []", "x.append(1)", "x[0] = 2", "x.a = 3", "x += [4]", "print(x)"], {5}, {0, 1, 2, 3, 4, 5}),
        (["x = []", "y = x[0]", "print(x)"], {2}, {0, 2}),  # a cell that only reads it
        (["x = 1", "x = 2\nprint(x)"], {1}, {1}),  # bound there before it is read
        (["x = 1", "if u: x = 2\nprint(x)"], {1}, {0, 1}),  # perhaps bound
        (["x = 1", "for x in 'ab': print(x)"], {1}, {1}),
        (["x = 1", "y = [x for x in 'ab']"], {1}, {1}),
        (["x = 1", "f = lambda x: x"], {1}, {1}),
        (["x = 1", "def f(y):\n    return x + y"], {1}, {0, 1}),  # read when it is called
        (["def f(): pass", "import g", "f(g)"], {2}, {0, 1, 2}),
        (["import torch", "torch.set_num_threads(1)", "torch.ones(1)"], {2}, {0, 1, 2}),  # a setting
        (["from dlperf import plot", "plot.points(1)", "plot.figure()"], {2}, {0, 2}),  # the book's own keep none
    ],
)
def test_a_cell_needs_those_that_bind_or_change_what_it_reads(cells: list[str], used: set[int], kept: set[int]) -> None:
    assert needed(cells, used) == kept


@pytest.mark.parametrize("page", PAGES)
def test_what_is_left_out_reaches_no_line_for_a_gpu(rehearsals: Rehearsals, page: str) -> None:
    one, two = (rehearsals(page, devices) for devices in (1, 2))
    print(f"{page}: left out with two GPUs: {sorted(one.seconds.keys() - two.seconds.keys())}")
    assert one.using <= two.seconds.keys()
    assert one.reached <= two.reached
