"""The leaves of *Why is my training slow?*, pasted into programs on a simulated GPU that are not the book's."""

from __future__ import annotations

import pytest

from tests.gpu.conftest import Run
from tests.pasted import PROGRAMS

LEAVES = """
from tests.pasted import PROGRAMS, TRAINS, Pasted
pasted = Pasted(PROGRAMS[{name!r}]("cuda"))
assert pasted.names["device"].type == "cuda"
for leaf in pasted.needs:
    pasted.leaf(leaf, only=TRAINS)
"""


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_leaf_runs_after_the_cells_that_it_needs(run: Run, name: str) -> None:
    assert not run(LEAVES.format(name=name))
