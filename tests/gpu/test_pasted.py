"""A leaf of *Why is my training slow?* pasted into a program that is not the book's, on a simulated GPU.

`tests/long/gpu` pastes each leaf.
"""

from __future__ import annotations

from tests.gpu.conftest import Run


def test_a_leaf_runs_on_a_gpu(run: Run) -> None:
    check_leaf_on_gpu(run, "slow-number", "words")


def check_leaf_on_gpu(run: Run, leaf: str, own: str) -> None:
    """Fails where a leaf raises in one of `tests.pasted.PROGRAMS` on a simulated GPU."""
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
