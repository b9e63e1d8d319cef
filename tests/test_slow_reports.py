"""The programs of `tests.slow_reports` are complete, and each has its fault where that can be counted.

Nothing is timed: what a fault costs in seconds is a matter for the tests that paste the page's cells into them.
"""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from tests.slow_reports import LEAVES, NAMES, reports

REPORTS = {report.__name__.rpartition(".")[2]: report for report in reports()}
ALONE = {name: report for name, report in REPORTS.items() if not hasattr(report, "RANKS")}
COUNTED = {name: report for name, report in ALONE.items() if not report.TIMED}
REQUIRED = {"torch", "model", "device", "optimizer", "batch", "step", "loader"}
AT_LEAST = Counter(
    {
        "slow-border": 2,
        "slow-nth": 2,
        "slow-later": 2,
        "slow-switched": 2,
        "slow-threads": 2,
        "slow-ranks": 2,
        "slow-host": 2,
        "slow-compiler": 2,
    }
    | {"slow-waste": 3, "slow-grows": 3}
)
"""How many reports a leaf has at least, where that is more than one."""
pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),  # on machines of few cores
    pytest.mark.filterwarnings("ignore:Anomaly Detection has been enabled"),
    pytest.mark.filterwarnings("ignore:Sparse invariant checks"),
]


def each(reports: dict[str, ModuleType]) -> Any:
    return pytest.mark.parametrize("report", reports.values(), ids=reports.keys())


@pytest.fixture(autouse=True)
def _switches_are_restored() -> Iterator[None]:
    threads, anomalies = torch.get_num_threads(), torch.is_anomaly_enabled()
    yield
    torch.set_num_threads(threads)
    torch.autograd.set_detect_anomaly(anomalies)


@pytest.fixture(autouse=True)
def _nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    for report in REPORTS.values():
        if hasattr(report, "time"):
            monkeypatch.setattr(report, "time", SimpleNamespace(sleep=lambda seconds: None))


def test_every_file_is_a_report_and_every_leaf_has_its_number() -> None:
    files = {path.stem for path in Path(__file__).with_name("slow_reports").glob("*.py")} - {"__init__"}
    assert files == set(NAMES) == set(REPORTS)
    assert len(NAMES) == len(set(NAMES)) == 26
    leaves = Counter(report.LEAF for report in REPORTS.values())
    assert set(leaves) == set(LEAVES)
    assert not AT_LEAST - leaves
    assert [LEAVES.index(report.LEAF) for report in REPORTS.values()] == sorted(
        LEAVES.index(report.LEAF) for report in REPORTS.values()
    )


@each(REPORTS)
def test_a_report_has_its_fields(report: ModuleType) -> None:
    first, empty, *rest = (report.__doc__ or "").strip().splitlines()
    assert first.endswith(".")
    assert not empty
    assert rest[0].startswith("As reported: ")
    assert isinstance(report.TIMED, bool)
    assert getattr(report, "RANKS", 2) == 2
    assert report.TIMED or callable(report.shows)


@each(REPORTS)
def test_a_program_is_short(report: ModuleType) -> None:
    assert report.__file__ is not None
    (program,) = (
        node
        for node in ast.parse(Path(report.__file__).read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and node.name == "program"
    )
    assert program.end_lineno is not None
    assert program.end_lineno - program.lineno < 60


@each(ALONE)
@pytest.mark.parametrize("fault", [True, False], ids=["fault", "healthy"])
def test_a_step_learns_from_the_first_batch(report: ModuleType, fault: bool) -> None:
    names = report.program(fault)
    assert set(names) >= REQUIRED
    assert set(names) - REQUIRED <= {"epoch", "switches"}
    assert names["torch"] is torch
    assert names["device"] == torch.device("cpu")
    first, *others = names["loader"] if not fault else [next(iter(names["loader"]))]
    assert fault or 1 + len(others) >= 12
    assert type(first) is type(names["batch"])
    before = {name: value.detach().clone() for name, value in names["model"].named_parameters()}
    for loss in (names["step"](first), names["step"]()):
        assert loss.shape == ()
        assert not loss.requires_grad
        assert math.isfinite(loss.item())
    assert any(not torch.equal(before[name], value) for name, value in names["model"].named_parameters())


@each(ALONE)
def test_the_remedy_leaves_the_program_what_it_is(report: ModuleType) -> None:
    losses = []
    for fault in (True, False):
        names = report.program(fault)
        torch.manual_seed(1)
        losses.append(names["step"]())
    torch.testing.assert_close(*losses, rtol=1e-4, atol=1e-5)


@each({name: report for name, report in ALONE.items() if report.LEAF == "slow-switched"})
def test_what_was_switched_can_be_run_without_and_with(report: ModuleType) -> None:
    switches = report.program()["switches"]
    assert len(switches) == 2
    assert all(math.isfinite(float(run())) for run in switches.values())


@each(COUNTED)
def test_the_fault_is_there_and_its_remedy_removes_it(report: ModuleType) -> None:
    assert report.shows(report.program(fault=True))
    assert not report.shows(report.program(fault=False))
