"""What `torch.compile` and XLA make of branches: the same bits; XLA is asked in a process of its own."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch
from torch._inductor import config
from torch._inductor.utils import fresh_cache

from dlperf.environment import compiler
from dlperf.parallel import automatic
from dlperf.parallel.automatic import program, xla

needs_compiler = pytest.mark.skipif(compiler() is None, reason="needs a C++ compiler")


@needs_compiler
def test_compiled_branches_compute_the_same_one_after_the_other() -> None:
    seen = automatic.compiled(repeats=1)
    assert seen is not None
    assert seen.digests == automatic.in_pytorch(repeats=1).digests
    assert automatic.share(seen.trace) == 0
    assert [s.branch for s in seen.trace if s.name == "aten::sort"] == [0] * program.STEPS + [1] * program.STEPS
    if sys.platform == "linux":
        assert sum("cpp_fused" in s.name for s in seen.trace) == 2 * program.STEPS


@needs_compiler
def test_a_compiler_that_cannot_compile_is_none(tmp_path: Path) -> None:
    broken = tmp_path / "c++"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    torch.compiler.reset()
    with config.patch({"cpp.cxx": (None, str(broken))}), fresh_cache():
        assert automatic.compiled(repeats=1) is None
    torch.compiler.reset()


@pytest.mark.skipif(find_spec("jax") is None, reason="needs JAX")
@pytest.mark.parametrize("width", [2, 16])
def test_xla_computes_the_same_and_its_trace_knows_the_branches(width: int) -> None:
    seen = automatic.in_xla(width, repeats=1)
    assert seen is not None
    assert seen.digests == automatic.expected(width)
    assert {s.branch for s in seen.trace} == set(range(width))
    assert sum(s.name.startswith("sort") for s in seen.trace) >= width * program.STEPS


@pytest.mark.parametrize("fault", ["raise RuntimeError('jaxlib is too old')", "numpy = profiler = None"])
def test_without_a_jax_that_can_be_used_xla_is_not_run(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "jax.py").write_text(fault)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setattr(xla, "find_spec", lambda name: name)
    assert automatic.in_xla() is None
