"""An expression in a process of its own, of which an interpreter's start is the cost."""

from __future__ import annotations

import os

import pytest

from dlperf import fresh_process


def test_it_is_another_process_with_the_settings_asked_for() -> None:
    process, setting = fresh_process.evaluate("[os.getpid(), os.environ['SOME']]", "import os", SOME="kept")
    assert process != os.getpid()
    assert setting == "kept"


def test_one_that_fails_says_what_was_asked_and_why() -> None:
    with pytest.raises(RuntimeError, match=r"1 / 0 failed in a fresh process: (?s:.*)ZeroDivisionError"):
        fresh_process.evaluate("1 / 0", "pass")
