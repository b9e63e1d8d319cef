"""What the gallery measures in fresh processes, each of which takes seconds to import PyTorch."""

import os

import pytest

from dlperf.measuring import pitfalls


def test_fresh_process_is_another_process_and_returns_values():
    """One setting for both libraries among them, and any other."""
    asked = "[p.os.getpid(), p.os.environ['SOME_SETTING'], p.torch.get_num_threads()]"
    process, setting, threads = pitfalls.in_fresh_process(asked, SOME_SETTING="kept", **pitfalls.ONE_THREAD)
    assert process != os.getpid()
    assert (setting, threads) == ("kept", 1)


def test_fresh_process_that_fails_says_why():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        pitfalls.in_fresh_process("1 / 0")
