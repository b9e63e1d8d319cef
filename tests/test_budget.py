"""What a cell has left of its time."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

import IPython.core.getipython
import nbformat
import pytest
from nbclient import NotebookClient

from dlperf.budget import VARIABLE, seconds_left


class Kernel:
    """As much of a kernel as is asked: the request that it carries out."""

    def __init__(self, ago: float) -> None:
        self.date = datetime.now(UTC) - timedelta(seconds=ago)

    def get_parent(self) -> dict[str, object]:
        """Returns the request of the cell that is running."""
        return {"header": {"date": self.date}}


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "300")


def within(monkeypatch: pytest.MonkeyPatch, shell: object) -> float:
    """Returns what is left where IPython says that it runs in ``shell``."""
    monkeypatch.setattr(IPython.core.getipython, "get_ipython", lambda: shell)
    return seconds_left()


@pytest.mark.usefixtures("limit")
def test_a_cell_has_what_its_limit_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 150 < within(monkeypatch, Kernel(ago=100)) <= 200
    assert within(monkeypatch, Kernel(ago=400)) == 0


@pytest.mark.usefixtures("limit")
@pytest.mark.parametrize("shell", [None, object()])
def test_nothing_limits_a_script_and_a_terminal(monkeypatch: pytest.MonkeyPatch, shell: object) -> None:
    assert within(monkeypatch, shell) == math.inf


def test_nothing_limits_a_cell_without_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert within(monkeypatch, Kernel(ago=1)) == math.inf


@pytest.mark.parametrize("text", ["soon", "0", "-1", "nan", ""])
def test_a_limit_that_is_none_is_named(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(ValueError, match=f"DLPERF_CELL_SECONDS is the seconds .*; got '{text}'"):
        within(monkeypatch, Kernel(ago=1))


@pytest.mark.usefixtures("limit")
def test_a_kernel_counts_from_each_cells_request() -> None:
    cells = ["import time; time.sleep(1)", "from dlperf.budget import seconds_left; seconds_left()"] * 2
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in cells])
    NotebookClient(notebook, kernel_name="python3").execute()
    left = [float(notebook.cells[i].outputs[0].data["text/plain"]) for i in (1, 3)]
    assert all(295 < seconds < 300 for seconds in left)
    assert abs(left[0] - left[1]) < 1  # the sleeps before them do not count
