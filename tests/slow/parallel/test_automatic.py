"""What `torch.compile` makes of two branches: the same bits, from calls in one order."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import torch
from torch._inductor import config
from torch._inductor.utils import fresh_cache

from dlperf.environment import compiler
from dlperf.parallel import automatic
from dlperf.parallel.automatic import program

pytestmark = pytest.mark.skipif(compiler() is None, reason="needs a C++ compiler")


def test_compiled_branches_compute_the_same_one_after_the_other() -> None:
    seen = automatic.compiled(repeats=1)
    assert seen is not None
    assert seen.digests == automatic.in_pytorch(repeats=1).digests
    assert automatic.share(seen.trace) == 0
    assert [s.branch for s in seen.trace if s.name == "aten::sort"] == [0] * program.STEPS + [1] * program.STEPS
    if sys.platform == "linux":
        assert sum("cpp_fused" in s.name for s in seen.trace) == 2 * program.STEPS


def test_the_generated_calls_sort_as_often_as_the_program() -> None:
    calls = automatic.generated()
    assert sum(".sort" in call for call in calls) == 2 * program.STEPS
    assert any(re.fullmatch(r"buf\d+ = buf\d+", call) for call in calls)


def test_a_compiler_that_cannot_compile_is_none(tmp_path: Path) -> None:
    broken = tmp_path / "c++"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    torch.compiler.reset()
    with config.patch({"cpp.cxx": (None, str(broken))}), fresh_cache():
        assert automatic.compiled(repeats=1) is None
        assert automatic.generated() == []
    torch.compiler.reset()
