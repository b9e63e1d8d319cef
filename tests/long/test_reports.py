"""The page's clocks on programs with a planted fault that only seconds show, and on those of two ranks.

This compares measured times.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests import diagnosis
from tests.slow_reports import reports
from tests.slow_reports.rank_zero_writes_the_report import WRITING_S
from tests.torchrun import on_two_ranks

TIMED = {
    report.__name__.rpartition(".")[2]: report for report in reports() if report.TIMED and not hasattr(report, "RANKS")
}
WHEN = {"slow-border", "slow-nth", "slow-later"}
BESIDES = {"workers_for_a_table_in_memory": {"slow-border"}}
"""What else is rightly found: workers that were switched on start anew with each epoch."""
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")  # on machines of few cores


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("name", TIMED)
def test_the_fault_is_found_and_nothing_else_that_has_its_time(name: str) -> None:
    names = TIMED[name].program(fault=True)
    diagnosis.define(names)
    found = diagnosis.timed(names)
    assert TIMED[name].LEAF in found
    assert found & WHEN <= {TIMED[name].LEAF} | BESIDES.get(name, set())


@pytest.mark.parametrize("name", TIMED)
def test_it_is_not_found_where_it_is_mended(name: str) -> None:
    names = TIMED[name].program(fault=False)
    diagnosis.define(names)
    assert TIMED[name].LEAF not in diagnosis.timed(names)


def test_two_ranks_find_who_is_late_and_what_is_sent_too_often(tmp_path: Path) -> None:
    together = [report.__name__.rpartition(".")[2] for report in reports() if hasattr(report, "RANKS")]
    found = on_two_ranks("tests.ranked", tmp_path / "found.json", *together)
    times = {name: each["sent"] for name, each in found.items()}
    assert times.pop("sent_after_every_part with fault") == pytest.approx(4)
    assert list(times.values()) == pytest.approx([1, 1, 1])
    late, waiting = found["rank_zero_writes_the_report with fault"]["pace"]
    assert min(late["alone"]) >= WRITING_S
    assert len(waiting["waits"]) == 5
