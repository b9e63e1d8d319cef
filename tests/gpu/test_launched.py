"""The chapter's commands under torchrun, two processes with a simulated GPU each: their lines for a GPU are reached."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.gpu.conftest import simulated
from tests.gpu.reached import gpu_lines
from tests.processes import DEADLINE_S

PLAIN, PROBE = "dlperf.multigpu.plain", "dlperf.multigpu.probe"
TIMES = "dlperf.multigpu.all_reduce_times"


def launched(folder: Path, library: Path, modules: list[str], module: str, *options: str) -> tuple[str, list[set[str]]]:
    """Returns what two launched processes print, and which lines of some ``modules`` each reaches."""
    torchrun = ["torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend", "c10d"]
    program = ["-m", "tests.gpu.reached", str(folder), ",".join(modules), module, *options]
    command = [sys.executable, "-m", *torchrun, "--rdzv-endpoint", "localhost:0", *program]
    given = {**simulated(library, 2), "TMPDIR": str(folder)}
    done = subprocess.run(command, capture_output=True, text=True, env=given, timeout=4 * DEADLINE_S)
    assert done.returncode == 0, done.stderr
    reached = [json.loads((folder / str(rank)).read_text()) for rank in range(2)]
    return done.stdout, [{f"{name}:{n}" for name, lines in each.items() for n in lines} for each in reached]


def lines_for_a_gpu(modules: list[str]) -> dict[str, str]:
    """Returns the lines in which some modules name a GPU, each of which has one at least."""
    found = {module: gpu_lines(module) for module in modules}
    assert all(found.values()), found
    return {f"{module}:{n}": line for module, lines in found.items() for n, line in lines.items()}


def assert_reached(wanted: dict[str, str], reached: list[set[str]]) -> None:
    """Fails where a process has not reached all lines that are ``wanted``; prints these."""
    print(*(f"{place}: {line}" for place, line in wanted.items()), sep="\n")
    for rank, lines in enumerate(reached):
        assert not wanted.keys() - lines, f"rank {rank} does not reach these"


def test_the_script_in_plain_pytorch_takes_a_gpu_for_each_process(library: Path, tmp_path: Path) -> None:
    printed, reached = launched(tmp_path, library, [PLAIN], PLAIN)
    assert_reached(lines_for_a_gpu([PLAIN]), reached)
    found = re.findall(r"rank (\d) of 2: (-?\d+\.\d{6})", printed)  # two may write into one line
    assert {rank for rank, _ in found} == {"0", "1"}, printed
    assert len({weights for _, weights in found}) == 1


def test_the_probe_times_gpus_and_what_joins_them(library: Path, tmp_path: Path) -> None:
    options = ["--batch", "1", "--samples", "1", "--largest", "16KiB"]
    printed, reached = launched(tmp_path, library, [PROBE, TIMES], PROBE, *options)
    assert_reached(lines_for_a_gpu([PROBE, TIMES]), reached)
    assert printed.startswith("2 ranks on cuda, nccl, "), printed
    assert printed.count("DDP step, 1 images a rank") == 1


@pytest.mark.parametrize(
    ("module", "lines"),
    [
        (PLAIN, ["if torch.cuda.device_count() >= processes:", "torch.cuda.set_device(device)"]),
        (PROBE, ["torch.accelerator.set_device_index(device.index)"]),
        (TIMES, ["accelerator = torch.accelerator.current_accelerator()"]),
    ],
)
def test_lines_for_a_gpu_are_found_in_the_source(module: str, lines: list[str]) -> None:
    assert set(lines) <= set(gpu_lines(module).values())
