"""What `torch.compile` makes of two branches: the same bits, from calls in one order."""

from __future__ import annotations

import pytest

from dlperf import automatic
from dlperf.automatic import program
from dlperf.environment import compiler

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs a C++ compiler")


def test_compiled_branches_compute_the_same_one_after_the_other() -> None:
    seen = automatic.in_pytorch(compiled=True, repeats=1)
    assert seen.digests == automatic.in_pytorch(repeats=1).digests
    assert automatic.share(seen.trace) == 0
    assert [s.branch for s in seen.trace if s.name == "aten::sort"] == [0] * program.STEPS + [1] * program.STEPS


def test_the_generated_calls_sort_as_often_as_the_program() -> None:
    calls = automatic.generated()
    assert sum(".sort" in call for call in calls) == 2 * program.STEPS
    assert any("# reuse" in call for call in calls)
