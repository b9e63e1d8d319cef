"""Small pushes to one server: all count, in every way, and the server's own seconds for them are found."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from dlperf.servers import small_operations
from tests.processes import wait_until


def test_every_way_and_size_is_measured_and_every_push_counts():
    found = small_operations.measured((64, 4096), operations=30, repeats=3)  # it raises where one does not count
    assert set(found) == {(way, size) for way in small_operations.WAYS for size in (64, 4096)}
    for cost in found.values():
        assert len(cost.seconds.samples) == 3
        assert min(cost.python.samples) > 0
        assert all(python <= server for python, server in cost.python.pairs(cost.server))
        assert cost.busy.unit == "1"
        assert cost.rate.unit == cost.most.unit == "1/s"
        assert cost.rate.median == pytest.approx(1 / cost.seconds.median)


def test_a_push_that_does_not_count_is_an_error():
    class Store:
        def pull(self, key: str) -> torch.Tensor:
            return torch.tensor([3.0, 2.0])

        def close(self) -> None: ...

    small_operations._stores.append(Store())  # type: ignore[arg-type]
    with pytest.raises(ArithmeticError, match=r"8 bytes: 3 pushes of 1 are 3, got \[2.0, 3.0\]"):
        small_operations.leave(0, 3, [8])
    small_operations._stores.clear()


def test_what_a_process_has_spent_grows_while_it_computes():
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        try:
            assert wait_until(lambda: small_operations.spent(process.pid).python > 0)
            before = small_operations.spent(process.pid)
            assert wait_until(lambda: small_operations.spent(process.pid).python > before.python + 0.05)
            after = small_operations.spent(process.pid)
        finally:
            process.kill()
    assert after.process - before.process == pytest.approx(after.python - before.python)
    assert small_operations.spent(os.getpid()).python <= small_operations.spent(os.getpid()).process


def test_ticks_serve_where_nanoseconds_are_not_counted(tmp_path):
    (tmp_path / "stat").write_text("7 (a) b) S 1 1 1 0 -1 0 0 0 0 0 250 50 0 0 20 0 1 0 0 0 0")
    assert small_operations._seconds(tmp_path) == pytest.approx(300 / os.sysconf("SC_CLK_TCK"))
    (tmp_path / "schedstat").write_text("1500000000 7 9")
    assert small_operations._seconds(tmp_path) == 1.5


def test_a_process_that_has_ended_is_named():
    with pytest.raises(RuntimeError, match=r"Linux tells in /proc: .*No such file"):
        small_operations.spent(2**22 + 1)
