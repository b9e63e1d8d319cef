"""Each leaf of *Why is my training slow?* pasted into each program, alone and on two ranks at once.

`tests/slow` pastes it into one of them; `tests/long/gpu` into each on a simulated GPU.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.conftest import ROOT
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


def test_two_ranks_run_every_leaf(tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    variables = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": f"{ROOT}/code:{ROOT}"}
    done = subprocess.run(
        [*launcher, "-m", "tests.pasted", out],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=1800,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text(encoding="ascii"))
    assert list(found) == list(PROGRAMS)
    for each in found.values():
        assert each["leaves"] == list(needs())
        assert each["sent"] == pytest.approx(1)
        assert [len(rank["waits"]) for rank in each["pace"]] == [2, 2]
