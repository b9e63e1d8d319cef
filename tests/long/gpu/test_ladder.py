"""The ladder's scripts under torchrun, two processes with a simulated GPU each: they train as on cores do."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlperf.concise import rungs
from tests.gpu.test_launched import assert_reached, launched, lines_for_a_gpu

LAUNCH, SHORT = "torchrun --standalone --nproc-per-node 2", ("--epochs", "1", "--width", "16")


@pytest.mark.parametrize("script", ["ddp", "accumulate", "sharded", "restarted"])
def test_a_script_of_the_ladder_takes_a_gpu_for_each_process(
    script: str, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And reaches each of its lines that name one."""
    monkeypatch.chdir(tmp_path)  # one of them saves where it runs
    module = f"dlperf.concise.ladder.{script}"
    printed, reached = launched(tmp_path, library, [module], module, *SHORT)
    assert_reached(lines_for_a_gpu([module]), reached)
    found = rungs.result([printed], [], 0.0)
    on_cores = rungs.run(" ".join((LAUNCH, f"{script}.py", *SHORT)))
    print(f"{script}: loss {found.losses[0]} on GPUs, {on_cores.losses[0]} on cores")
    assert found.losses == {0: pytest.approx(on_cores.losses[0], rel=1e-3)}
    assert found.right == pytest.approx(on_cores.right, abs=0.01)
