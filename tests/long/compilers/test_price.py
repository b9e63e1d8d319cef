"""What it costs to compile a model: both ways, each in a process that compiles everything."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlperf.compilers import price
from dlperf.environment import compiler


@pytest.mark.skipif(compiler() is None, reason="no C++ compiler")
def test_new_processes_compile_into_a_folder_each(tmp_path: Path) -> None:
    found = price.first_steps(tmp_path)
    assert list(found) == ["whole", "by_block"]
    for way, (seconds, graphs) in found.items():
        assert seconds > 0
        assert graphs == 1
        assert any((tmp_path / way).rglob("*.so"))
