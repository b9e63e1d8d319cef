"""Short executions: every line runs, but not as often; and nothing takes one for a record."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from booktools.executions import short
from booktools.executions.execute import execute
from booktools.executions.executions import load_execution
from booktools.executions.prepare import prepare
from booktools.executions.short import rule
from booktools.source.book import Book, BookError
from booktools.source.kernel import KEY
from tests.conftest import ROOT


def shortened(source: str, **names: Any) -> dict[str, Any]:
    """Returns what a program binds, run as a short execution runs it."""
    namespace = {**rule.HELPERS, **names}
    exec(compile(rule.shorten(ast.parse(source)), "<test>", "exec"), namespace)
    return namespace


def test_a_parameter_that_says_how_often_is_at_most_what_the_rule_allows() -> None:
    found = shortened(
        "def f(repeats: int = 30, seconds: float = 1.0, size: int = 99):\n"
        '    "Doc."\n    return repeats, seconds, size\n'
        "given = f(7, 0.001, 5)\nby_default = f()\n"
        "much = 12\ncalled = dict(repeats=much, n=10**9, samples=1)\n"
    )
    assert found["given"] == (rule.MOST["repeats"], 0.001, 5)
    assert found["by_default"] == (rule.MOST["repeats"], rule.MOST["seconds"], 99)
    assert found["f"].__doc__ == "Doc."
    assert found["called"] == {"repeats": rule.MOST["repeats"], "n": 10**9, "samples": 1}  # it is no number to see


def test_a_length_of_time_stays_as_it_is() -> None:
    """It ends what would hang: of five milliseconds, it would end what only begins."""
    found = shortened(
        "from datetime import timedelta\nseconds = 60\nlimit = timedelta(seconds=seconds), timedelta(seconds=60)\n"
    )
    assert [each.total_seconds() for each in found["limit"]] == [60, 60]


def test_a_loop_that_counts_nothing_turns_less_often_and_others_as_often() -> None:
    found = shortened("a = [0 for _ in range(99)]\nb = [i for i in range(99)]\nc = [0 for _ in range(4)]\n")
    assert [len(found[name]) for name in "abc"] == [rule.LOOPS, 99, 4]


def test_the_longest_pages_begin_and_none_follows_a_long_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short, "SECONDS", {"a": 10, "b": 50, "c": 20, "d": 40, "e": 30})
    assert short.longest_first("abcde") == ["b", "d", "e", "c", "a"]
    assert short.longest_first("abcde", workers=2) == ["b", "a", "d", "c", "e"]  # what xdist gives two at once
    assert short.longest_first("abcdex", workers=2) == ["x", "a", "b", "c", "d", "e"]  # nobody knows how long x takes
    assert short.longest_first("abc", workers=8) == ["b", "a", "c"]
    assert short.longest_first("", workers=2) == []


def test_what_the_rule_names_is_there() -> None:
    """A function or constant that is renamed would be as long as ever."""
    sources = {path: path.read_text(encoding="utf-8") for path in (ROOT / "code" / "dlperf").rglob("*.py")}
    for name in rule.FUNCTIONS:
        module, _, function = name.rpartition(".")
        path = (ROOT / "code").joinpath(*module.split(".")).with_suffix(".py")
        assert f"\ndef {function}(" in sources[path], name
    for name in rule.CONSTANTS:
        assert any(f"\n{name} = " in source for source in sources.values()), name
    for name in rule.EXCEPTIONS:
        assert any(f"def {name}(" in source for source in sources.values()), name


def test_processes_of_a_short_execution_import_the_shortened_book(tmp_path: Path) -> None:
    """And no others: without the variable nothing is rewritten."""
    program = "from dlperf import environment, turns; print(environment.memory_bytes() == 2**30)"
    given = {name: value for name, value in os.environ.items() if name != short.SHORT}
    for extra, said in ((short.variables(tmp_path), "True"), ({}, "False")):
        done = subprocess.run([sys.executable, "-c", program], env={**given, **extra}, capture_output=True, text=True)
        assert done.stdout.strip() == said, done.stderr


def test_a_module_is_rewritten_once_for_all_processes_until_its_text_changes(tmp_path: Path) -> None:
    """Each text twice: what reads it the second time finds what the first has kept, and the same is in it."""
    package, kept = tmp_path / "dlperf", tmp_path / "kept"
    package.mkdir()
    program = (
        "import booktools.executions.short.loader as l; rewritten = l.shorten; l.activate();"
        " l.shorten = lambda tree: print('rewritten') or rewritten(tree); import dlperf; print(dlperf.f(9))"
    )
    path = os.pathsep.join((str(tmp_path), str(ROOT / "code")))
    given = {**os.environ, "PYTHONPATH": path, short.KEPT: str(kept)}
    for added, said in (("", "rewritten\n1"), ("", "1"), (" + 1", "rewritten\n2"), (" + 1", "2")):
        (package / "__init__.py").write_text(f"def f(repeats: int) -> int:\n    return repeats{added}\n")
        done = subprocess.run([sys.executable, "-c", program], env=given, capture_output=True, text=True)
        assert done.stdout.strip() == said, done.stderr
    assert len(list(kept.iterdir())) == 2


def test_short_executions_have_a_folder_and_a_mark_of_their_own(tiny: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    full, _ = prepare(tiny, "tiny")
    monkeypatch.setenv(short.SHORT, "1")
    path, _ = prepare(tiny, "tiny")
    assert path.parent != full.parent
    assert nbformat.read(path, as_version=4).metadata[KEY][short.MARK]
    assert short.MARK not in nbformat.read(full, as_version=4).metadata[KEY]
    with pytest.raises(BookError, match="only tests execute in short"):
        execute(tiny, "tiny", path)
    monkeypatch.delenv(short.SHORT)
    shutil.copy(path, full)
    assert prepare(tiny, "tiny") == (full, False)  # it is written again, to be executed


def test_a_short_execution_is_no_record(tiny: Book) -> None:
    path, _ = prepare(tiny, "tiny")
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata[KEY] |= {short.MARK: True, "environment": {"cpu": "Zorb"}}
    target = tiny.records / "zorb" / "tiny.ipynb"
    target.parent.mkdir(parents=True)
    nbformat.write(notebook, target)
    with pytest.raises(BookError, match=r"zorb/tiny.ipynb: a short execution, which measured nothing"):
        load_execution(tiny, target, "tiny")
