"""Each line of a cell or of ``dlperf`` that a full execution of a page reaches, a short one reaches too."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from booktools.executions import short
from tests.conftest import ROOT
from tests.gpu.conftest import PAGES
from tests.reached import lines
from tests.reached.unlike import missed

# The package of rehearsals is on the path once the lines above have been imported.
from rehearsal.execution import copy_of_the_book, rehearse  # isort: skip


@pytest.mark.parametrize("page", PAGES)
def test_a_short_execution_reaches_what_a_full_one_does(page: str, tmp_path: Path) -> None:
    book = copy_of_the_book(tmp_path / "book")
    bare = {name: value for name, value in os.environ.items() if name != short.SHORT}
    bare["PYTHONPATH"] = str(ROOT / "code")

    def reached(length: str, given: dict[str, str]) -> dict[str, str]:
        folder = tmp_path / length
        folder.mkdir(exist_ok=True)
        noted = folder / "lines"
        assert rehearse(book, page, folder, lines.variables(noted, {**bare, **given})).error == ""
        return lines.read(noted)

    full = reached("full", {"IPYTHONDIR": str(tmp_path / "ipython")})
    in_short = reached("short", short.variables(tmp_path / "short"))
    assert missed(full, in_short) == {}
