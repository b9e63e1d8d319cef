"""Processes with a simulated GPU each talk as those with a core each do: gloo in NCCL's place gives the same values."""

from __future__ import annotations

import pytest

from dlperf.multigpu.group import Group
from tests.gpu import ranks
from tests.gpu.conftest import Run


@pytest.mark.parametrize("size", [1, 2])
def test_collectives_on_gpus_give_what_they_give_on_cores(run: Run, size: int) -> None:
    with Group(size) as group:
        expected = group.run(ranks.collectives), group.run(ranks.ddp)
    assert not run(f"""
from dlperf.multigpu.group import Group, device_of
from tests.gpu import ranks
assert device_of({size} - 1, {size}).type == "cuda"
with Group({size}) as group:
    found = group.run(ranks.collectives), group.run(ranks.ddp)
assert str(found) == {str(expected)!r}, found
""")
