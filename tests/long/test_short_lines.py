"""Each line of a cell or of ``dlperf`` that a full execution of a page reaches, a short one reaches too."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import pytest

from booktools.executions import short
from booktools.executions.short.rule import FUNCTIONS
from tests.conftest import ROOT
from tests.gpu.conftest import PAGES
from tests.reached import lines

# The package of rehearsals is on the path once the lines above have been imported.
from rehearsal.execution import copy_of_the_book, rehearse  # isort: skip


UNLIKE = {
    **dict.fromkeys(FUNCTIONS, "a short execution has another in its place"),
    "dlperf.models.steps.is_large": "whom a short execution does not ask",
    "dlperf.budget.seconds_left": "one turn is taken whatever is left",
    "dlperf.budget._began": "it is asked",
    "dlperf.multigpu.batch_size.steps_to": "a short training ends before it has learnt",
    "dlperf.multigpu.batch_size.squared_norms": "the same",
    "dlperf.multigpu.batch_trials.fit": "the same: nothing needs fewer steps with a larger batch",
    "dlperf.timing._checked": "one repeat has no spread of which to warn",
    "dlperf.measurement.__format__": "what prints a spread, which one repeat does not have",
    "dlperf.measurement.summary": "the warning quotes it",
    "dlperf.asynchrony.engine.arrays.live_bytes": "it is asked for after a thousand changes, or to be drawn",
    "dlperf.asynchrony.engine.arrays._fill": "it asks",
    "dlperf.network.template.serve": "whether it notes its return before it is ended is a race",
}
"""The functions of which a short execution may reach fewer lines, and why; unit tests reach them."""


def lines_of(name: str) -> set[str]:
    """Returns the lines of the functions of a module that have a name, as ``file:line``."""
    module, _, function = name.rpartition(".")
    file = f"{module.replace('.', '/')}.py"
    tree = ast.parse((ROOT / "code" / file).read_text(encoding="utf-8"))
    found = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == function]
    assert found, f"{name} is no function any more"
    return {f"{file}:{line}" for node in found for line in range(node.lineno, (node.end_lineno or 0) + 1)}


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
    known = set(in_short).union(*map(lines_of, UNLIKE))
    assert {place: text for place, text in full.items() if place not in known} == {}
