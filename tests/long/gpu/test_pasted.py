"""Each leaf of *Why is my training slow?* pasted into programs that are not the book's, on a simulated GPU."""

from __future__ import annotations

import pytest

from tests.gpu.conftest import Run
from tests.pasted import needs

SIMULATED = ("images", "words")
"""Those of `tests.pasted.PROGRAMS` whose operators the simulated GPU has: it has no LSTM's cell."""


@pytest.mark.parametrize("own", SIMULATED)
@pytest.mark.parametrize("leaf", needs())
def test_a_leaf_runs_on_a_gpu_in_every_program(run: Run, leaf: str, own: str) -> None:
    assert not run(f"""
import warnings
import torch
from tests.pasted import PROGRAMS, Pasted
from tests.slow.test_pasted import check_leaf
warnings.filterwarnings("ignore")
torch.manual_seed(0)
pasted = Pasted(PROGRAMS[{own!r}]("cuda"))
assert {{each.device.type for each in pasted.names["model"].parameters()}} == {{"cuda"}}
check_leaf(pasted, {leaf!r})
""")
