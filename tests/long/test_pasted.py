"""Each leaf of *Why is my training slow?* pasted into each program, alone and on two ranks at once.

`tests/slow` pastes it into one of them; `tests/long/gpu` into each on a simulated GPU.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.pasted import PROGRAMS, Pasted, needs
from tests.slow.test_pasted import check_leaf
from tests.torchrun import on_two_ranks


@pytest.fixture(scope="module", params=PROGRAMS)
def pasted(request: pytest.FixtureRequest) -> Pasted:
    torch.manual_seed(0)
    return Pasted(PROGRAMS[request.param]())


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on machines of few cores
@pytest.mark.parametrize("leaf", needs())
def test_a_leaf_runs_in_every_program(pasted: Pasted, leaf: str) -> None:
    check_leaf(pasted, leaf)
    torch.compiler.reset()


def test_two_ranks_run_every_leaf(tmp_path: Path) -> None:
    found = on_two_ranks("tests.pasted", tmp_path / "found.json")
    assert list(found) == list(PROGRAMS)
    for each in found.values():
        assert each["leaves"] == list(needs())
        assert each["sent"] == pytest.approx(1)
        assert [len(rank["waits"]) for rank in each["pace"]] == [2, 2]
