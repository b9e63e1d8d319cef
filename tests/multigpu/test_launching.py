"""Launching, as far as no process starts: what is refused, which failure was first, and how an end is described."""

from __future__ import annotations

import pickle
import signal
import threading
from pathlib import Path

import pytest

from dlperf.multigpu.launching import GUARD_HINT, describe_end, launch, read_failures
from tests.multigpu.programs import add


@pytest.mark.parametrize("size", [0, -1])
def test_no_launch_is_empty(size: int) -> None:
    with pytest.raises(ValueError, match=f"at least one process, got world_size={size}"):
        launch(add, size)


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan")])
def test_a_time_limit_is_positive(limit: float) -> None:
    with pytest.raises(ValueError, match=f"positive number of seconds, got {limit}"):
        launch(add, 1, timeout=limit)


def test_what_cannot_be_sent_starts_nothing() -> None:
    with pytest.raises(TypeError, match=r"<lambda> and its arguments must be sent to other processes.*lambda"):
        launch(lambda rank, size: rank, 2)
    with pytest.raises(TypeError, match="add and its arguments"):
        launch(add, 2, threading.Lock())


def test_the_first_failure_in_time_comes_first_whatever_its_rank(tmp_path: Path) -> None:
    for rank, time in ((0, 30), (2, 10), (3, 20), (4, 5)):
        (tmp_path / f"failure{rank}").write_bytes(pickle.dumps((time, rank, f"traceback of {rank}", False)))
    assert [failure.rank for failure in read_failures(tmp_path, {0, 1, 2, 3})] == [2, 3, 0]
    assert read_failures(tmp_path, {1}) == []


@pytest.mark.parametrize(
    ("exit_code", "begun", "description"),
    [
        (-signal.SIGKILL, True, "its process was ended by SIGKILL"),
        (-signal.SIGSEGV, False, "its process was ended by SIGSEGV"),
        (3, True, "its process ended with exit code 3"),
        (0, True, "its process ended with exit code 0"),
        (1, False, f"its process ended with exit code 1{GUARD_HINT}"),
        (None, True, "its process ended"),
    ],
)
def test_an_end_without_an_answer_is_described(exit_code: int | None, begun: bool, description: str) -> None:
    assert describe_end(exit_code, begun) == description
