"""The page's instruments on programs with a planted fault: what can be counted is found, and is not without it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import torch

from dlperf.slow import launched
from tests import diagnosis, torchrun
from tests.slow_reports import LEAVES, rate_since_the_start, reports

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


ORDER = [anchor for anchor in re.findall(r"^\(([\w-]+)\)=$", diagnosis.PAGE.read_text(), re.M) if anchor in LEAVES]
"""The leaves as readers come to them."""
BEFORE = {"anomaly_detection_left_on": {"slow-copies"}}
"""What is rightly found before: anomaly detection reads each gradient to see whether a number is missing."""


@pytest.mark.parametrize("name", COUNTED)
def test_the_fault_is_found_and_no_leaf_before_it_sends_elsewhere(name: str) -> None:
    leaf, leaves = COUNTED[name].LEAF, found(COUNTED[name], fault=True)
    assert leaf in leaves
    assert leaves & set(ORDER[: ORDER.index(leaf)]) == BEFORE.get(name, set())


def test_the_page_has_every_leaf() -> None:
    assert sorted(ORDER) == sorted(LEAVES)


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


@pytest.mark.parametrize("fault", [True, False])
def test_a_fault_that_only_seconds_show_is_found_by_a_clock(fault: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """By one that a step moves by a millisecond, and what sleeps by as long as it would."""
    now = [0.0]

    def move(seconds: float) -> None:
        now[0] += seconds

    clock = SimpleNamespace(sleep=move, perf_counter=lambda: now[0])
    monkeypatch.setattr(rate_since_the_start, "time", clock)
    names = rate_since_the_start.program(fault)
    diagnosis.define(names)
    names["perf_counter"] = clock.perf_counter
    names["optimizer"].register_step_post_hook(lambda *_: move(1e-3))
    assert diagnosis.timed(names) == {"slow-first"} | ({"slow-number"} if fault else set())


def test_what_two_ranks_are_asked_a_single_one_can_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a launcher, whose processes start for seconds each: that is in `tests/long`."""
    monkeypatch.setattr(torchrun, "COMMAND", [sys.executable])
    for name, value in torchrun.ALONE.items():
        monkeypatch.setenv(name, value)
    found = torchrun.on_two_ranks("tests.ranked", tmp_path / "found.json", "sent_after_every_part")
    assert [each["sent"] for each in found.values()] == pytest.approx([4, 1])
    assert [[len(rank["waits"]) for rank in each["pace"]] for each in found.values()] == [[5], [5]]
