"""Each leaf of *Why is my training slow?* pasted into programs that are not the book's, on a simulated GPU."""

from __future__ import annotations

import pytest

from tests.gpu.conftest import Run
from tests.gpu.test_pasted import check_leaf_on_gpu
from tests.pasted import needs

SIMULATED = ("images", "words")
"""Those of `tests.pasted.PROGRAMS` whose operators the simulated GPU has: it has no LSTM's cell."""


@pytest.mark.parametrize("own", SIMULATED)
@pytest.mark.parametrize("leaf", needs())
def test_a_leaf_runs_on_a_gpu_in_every_program(run: Run, leaf: str, own: str) -> None:
    check_leaf_on_gpu(run, leaf, own)
