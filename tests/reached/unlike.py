"""Which lines a full execution of a page may reach and a short one not."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from booktools.executions.short.rule import FUNCTIONS
from tests.conftest import ROOT

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


def missed(full: Mapping[str, str], in_short: Mapping[str, str]) -> dict[str, str]:
    """Returns the text of each line that a full execution reached and a short one should have, by ``file:line``."""
    known = set(in_short).union(*map(lines_of, UNLIKE))
    return {place: text for place, text in full.items() if place not in known}
