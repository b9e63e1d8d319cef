"""What a record depends on of code: changes in words leave it, changes in what runs do not."""

from __future__ import annotations

import subprocess
import sys
from shutil import which

import pytest

from booktools.executions.fingerprint import DLPERF
from booktools.source.tokens import code
from tests.conftest import ROOT

ONE = '''"""A module."""

import os  # for its name

LIMIT = 3
"""How many there may be."""


def double(x: int, y: int = 2) -> int:
    """Returns twice x."""
    return (x + x) * f"{x!r:>{y}}".count("a")  # twice
'''
SAME = {
    "a comment": ONE.replace("  # twice", "  # two times"),
    "a comment more": ONE.replace("    return", "    # by adding\n    return"),
    "a docstring": ONE.replace("Returns twice x.", "Returns x and x.\n\n    Reflowed."),
    "no docstring": ONE.replace('    """Returns twice x."""\n', ""),
    "words on a constant": ONE.replace('"""How many there may be."""\n', ""),
    "the module's words": ONE.replace('"""A module."""', '"""Another story."""'),
    "lines broken elsewhere": ONE.replace("(x: int, y: int = 2)", "(\n    x: int,\n    y: int = 2,\n)"),
    "empty lines": ONE.replace("\n\n\ndef", "\n\n\n\n\ndef"),
    "spaces": ONE.replace("x + x", "x+x"),
}
OTHER = {
    "a number": ONE.replace("LIMIT = 3", "LIMIT = 4"),
    "a name": ONE.replace("LIMIT", "MOST"),
    "an operator": ONE.replace("x + x", "x - x"),
    "a default": ONE.replace("y: int = 2", "y: int = 3"),
    "a string": ONE.replace('"a"', '"b"'),
    "what stands in an f-string": ONE.replace("{x!r:>{y}}", "{x!s:>{y}}"),
    "a space in a string": ONE.replace('"a"', '" a"'),
    "an indented line": "if a:\n    b()\n    c()\n",
    "a tuple of one": "x = (a,)\n",
}


@pytest.mark.parametrize("words", SAME)
def test_words_and_layout_are_not_code(words: str) -> None:
    assert SAME[words] != ONE
    assert code(SAME[words]) == code(ONE)


@pytest.mark.parametrize("change", OTHER)
def test_what_runs_differently_is_other_code(change: str) -> None:
    assert code(OTHER[change]) != code(ONE)


def test_indentation_and_brackets_count() -> None:
    assert code("if a:\n    b()\n    c()\n") != code("if a:\n    b()\nc()\n")
    assert code("x = (a,)\n") != code("x = (a)\n")
    assert code("f(a, b,)") == code("f(a, b)")
    assert code("x = 'a' 'b'\n") != code("x = 'ab'\n")


def test_a_string_that_is_used_is_no_docstring() -> None:
    assert code('x = """a"""\n') != code('x = """b"""\n')
    assert code('f(\n    """a"""\n)\n') != code('f(\n    """b"""\n)\n')
    assert code('"""a""".strip()\n') != code('"""b""".strip()\n')


def test_what_is_not_python_is_taken_as_it_is() -> None:
    assert code("%matplotlib inline\nx = (") == "%matplotlib inline\nx = ("


@pytest.mark.parametrize("python", ["python3.11", "python3.12", "python3.13"])
def test_every_python_finds_the_same_tokens(python: str) -> None:
    """So a record made on one is not stale on another: f-strings have tokens of their own from 3.12 on."""
    program = which(python)
    if program is None or subprocess.run([program, "-c", "pass"], capture_output=True).returncode:
        pytest.skip(f"{python} is not installed")
    files = sorted(DLPERF.rglob("*.py"))
    script = "import sys; from booktools.source.tokens import code; import hashlib\n"
    script += "print(hashlib.sha256('\\1'.join(code(open(f).read()) for f in sys.argv[1:]).encode()).hexdigest())"
    run = [program, "-c", script, *map(str, files)]
    there = subprocess.run(run, capture_output=True, text=True, check=True, env={"PYTHONPATH": str(ROOT / "code")})
    here = subprocess.run([sys.executable, *run[1:]], capture_output=True, text=True, check=True)
    assert there.stdout == here.stdout
