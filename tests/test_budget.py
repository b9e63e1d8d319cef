"""What a cell has left of its time."""

from __future__ import annotations

import math
from ast import literal_eval
from datetime import UTC, datetime, timedelta

import IPython.core.getipython
import nbformat
import pytest
from nbclient import NotebookClient

from booktools.executions.execute import TIMEOUTS
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
    assert 0 < within(monkeypatch, Kernel(ago=100)) <= 200
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


ASK = """
from datetime import UTC, datetime
from dlperf.budget import seconds_left
now = lambda: datetime.now(UTC).timestamp()
get_ipython().get_parent()["header"]["date"].timestamp(), now(), seconds_left(), now()
"""


@pytest.mark.usefixtures("limit")
def test_a_kernel_counts_from_each_cells_request() -> None:
    """What a cell has left is the limit less the time since its own request, by a clock read before and after."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(ASK) for _ in range(2)])
    NotebookClient(notebook, kernel_name="python3", **TIMEOUTS).execute()
    first, second = (literal_eval(cell.outputs[0].data["text/plain"]) for cell in notebook.cells)
    for began, before, left, after in (first, second):
        assert began <= before <= after
        assert 300 - (after - began) - 1e-3 <= left <= 300 - (before - began) + 1e-3
    assert second[0] >= first[3] - 1e-3  # the request of the second came after the first had ended
