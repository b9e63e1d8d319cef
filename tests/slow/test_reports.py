"""The page's instruments on programs with a planted fault: what can be counted is found, and is not without it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from dlperf.slow import launched
from tests import diagnosis
from tests.conftest import ROOT
from tests.slow_reports import reports
from tests.slow_reports.rank_zero_writes_the_report import WRITING_S

ALONE = {report.__name__.rpartition(".")[2]: report for report in reports() if not hasattr(report, "RANKS")}
COUNTED = {name: report for name, report in ALONE.items() if not report.TIMED}
pytestmark = pytest.mark.filterwarnings("ignore")  # of few cores, of anomaly detection, of graphs recompiled


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
    torch.autograd.set_detect_anomaly(False)
    torch.compiler.reset()


def found(report: ModuleType, fault: bool) -> set[str]:
    names = report.program(fault)
    diagnosis.define(names)
    return diagnosis.counted(names)


@pytest.mark.parametrize("name", COUNTED)
def test_the_fault_is_found(name: str) -> None:
    assert COUNTED[name].LEAF in found(COUNTED[name], fault=True)


ALARMS = {"compiled_for_each_length": {"slow-waste"}}
"""What is rightly found in programs without their fault: one length for all batches is paid with padding."""


@pytest.mark.parametrize("name", COUNTED)
def test_nothing_is_found_without_the_fault(name: str) -> None:
    assert found(COUNTED[name], fault=False) == ALARMS.get(name, set())


def test_a_late_rank_and_too_many_sends_are_clocked_and_counted() -> None:
    seen = launched.run()
    assert seen.sent == pytest.approx(4)
    assert [len(rank["waits"]) for rank in seen.ranks] == [10, 10]
    assert min(seen.ranks[1]["alone"]) >= 0.03  # it sleeps for so long
    assert "sent_over_gradients 4.00" in str(seen)


def test_two_ranks_find_who_is_late_and_what_is_sent_too_often(tmp_path: Path) -> None:
    out = tmp_path / "found.json"
    together = [report.__name__.rpartition(".")[2] for report in reports() if hasattr(report, "RANKS")]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    variables = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": f"{ROOT}/code:{ROOT}"}
    done = subprocess.run(
        [*launcher, "-m", "tests.ranked", out, *together],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text(encoding="ascii"))
    times = {name: each["sent"] for name, each in found.items()}
    assert times.pop("sent_after_every_part with fault") == pytest.approx(4)
    assert list(times.values()) == pytest.approx([1, 1, 1])
    late, waiting = found["rank_zero_writes_the_report with fault"]["pace"]
    assert min(late["alone"]) >= WRITING_S
    assert len(waiting["waits"]) == 5
