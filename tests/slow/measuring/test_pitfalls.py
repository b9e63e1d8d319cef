"""What the gallery measures in fresh processes, each of which takes seconds to import PyTorch."""

import pytest

from dlperf.measuring import pitfalls


def test_fresh_process_is_another_process_and_returns_values():
    import os

    assert pitfalls.in_fresh_process("p.os.getpid()") != os.getpid()
    assert pitfalls.in_fresh_process("p.os.environ['SOME_SETTING']", SOME_SETTING="kept") == "kept"


def test_fresh_process_that_fails_says_why():
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        pitfalls.in_fresh_process("1 / 0")


def test_one_thread_setting_reaches_both_libraries():
    threads = pitfalls.in_fresh_process("p.torch.get_num_threads()", **pitfalls.ONE_THREAD)
    assert threads == 1
