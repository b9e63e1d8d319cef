"""Each leaf of *Why is my training slow?* pasted into each program; `tests/slow` pastes it into one of them."""

from __future__ import annotations

import pytest
import torch

from tests.pasted import PROGRAMS, Pasted, needs
from tests.slow.test_pasted import check_leaf


@pytest.fixture(scope="module", params=PROGRAMS)
def pasted(request: pytest.FixtureRequest) -> Pasted:
    torch.manual_seed(0)
    return Pasted(PROGRAMS[request.param]())


@pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on machines of few cores
@pytest.mark.parametrize("leaf", needs())
def test_a_leaf_runs_in_every_program(pasted: Pasted, leaf: str) -> None:
    check_leaf(pasted, leaf)
    torch.compiler.reset()
