"""The probe under torchrun and on two hosts: what it prints once, what all find alike, and who differs."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dlperf import network
from dlperf.models.resnet import ResNet18
from dlperf.multigpu.all_reduce_times import Options, link_bytes, measure
from dlperf.network import GIGABIT, PAYLOAD, Network, address, process_group
from tests.conftest import ROOT
from tests.multigpu.probing import compare_after_a_step, too_early
from tests.multigpu.probing import torchrun as torchrun_on_a_host
from tests.multigpu.programs import environ
from tests.processes import DEADLINE_S

why = network.unavailable()
needs_namespaces = pytest.mark.skipif(bool(why), reason=why)

TORCHRUN = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--rdzv-backend", "c10d"]
TORCHRUN += ["--rdzv-endpoint", "localhost:0"]
"""As readers start it, but for a port that the system chooses."""

GRADIENT = sum(p.nbytes for p in ResNet18().parameters())


@pytest.fixture(scope="module")
def pair() -> Iterator[Network]:
    with Network(2, GIGABIT) as made:
        made.run(process_group, 2)
        yield made


def torchrun(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in two processes; torchrun leaves its logs in a folder of the test."""
    command = (sys.executable, *TORCHRUN, *command)
    return subprocess.run(
        command, capture_output=True, text=True, env=environ(TMPDIR=str(folder)), timeout=4 * DEADLINE_S
    )


def test_rank_0_prints_one_table(tmp_path: Path) -> None:
    options = ["--batch", "1", "--samples", "1", "--largest", "1MiB", "--gradient", "987MB"]
    done = torchrun(tmp_path, "-m", "dlperf.multigpu.probe", *options)
    assert done.returncode == 0, done.stderr
    heads = [line for line in done.stdout.splitlines() if line.startswith("2 ranks on ")]
    assert len(heads) == 1
    for row in (
        "barrier",
        "all-reduce of 1.05 MB",
        "DDP step, 1 images a rank",
        "the same step without its all-reduce",
    ):
        assert done.stdout.count(row) == 1, done.stdout
    assert "a gradient of 987 MB" in done.stdout or "no line fits these times" in done.stdout


@pytest.mark.parametrize(
    ("difference", "message"),
    [
        ("sys.argv += ['--batch', '3']", "rank 1 has --batch 3, but rank 0 has 1"),
        ("os.environ['WORLD_SIZE'] = '3'", "rank 1 has WORLD_SIZE 3, but rank 0 has 2"),
    ],
)
def test_a_rank_that_differs_is_named_and_all_fail(tmp_path: Path, difference: str, message: str) -> None:
    script = tmp_path / "start.py"
    script.write_text(
        "import os, pathlib, sys\nfrom dlperf.multigpu.probe import main\n"
        f"if os.environ['RANK'] == '1':\n    {difference}\n"
        "status = main()\n"
        f"noted = pathlib.Path({str(tmp_path)!r}, 'noting-' + os.environ['RANK'])\n"
        "noted.write_text(str(status))\n"
        "noted.rename(noted.with_name('status-' + os.environ['RANK']))\n"
        "sys.exit(status)\n"
    )
    done = torchrun(tmp_path, str(script), "--batch", "1")
    assert done.returncode != 0
    assert f"stops: {message}" in done.stderr
    assert "ranks on" not in done.stdout
    statuses = [file.read_text() for file in tmp_path.glob("status-*")]  # torchrun ends the other when one has failed
    assert set(statuses) == {"1"}


@needs_namespaces
def test_two_hosts_find_the_same_and_no_more_than_their_link_gives(pair: Network) -> None:
    findings, other = pair.run(measure, 2, Options(batch=1, largest=2**20, samples=1), timeout=4 * DEADLINE_S)
    assert findings == other
    assert (findings.world_size, findings.backend, findings.batch) == (2, "gloo", 1)
    assert findings.gradient == GRADIENT
    assert list(findings.all_reduce) == [2**n for n in range(10, 21, 2)]
    sent = link_bytes(GRADIENT, 2)
    assert findings.step.median >= 0.95 * sent / PAYLOAD / GIGABIT  # a full bucket passes at once


def on_two_machines(language: str) -> list[str]:
    """Returns what follows torchrun on each of two machines, as the page of a language prints it in its two places."""
    text = (ROOT / "chapters" / language / "multigpu.md").read_text(encoding="utf-8")
    [(local, probe)] = re.findall(
        r"^torchrun (--nproc-per-node \d+) (-m dlperf\.multigpu\.probe .+)$", text, re.MULTILINE
    )
    [options] = re.findall(r"`(--[^`]*--nnodes 2[^`]* --rdzv-endpoint)`", text)
    assert local.split()[0] in options.split()
    return [*shlex.split(options), address(0), *shlex.split(probe)]


@needs_namespaces
def test_the_page_s_command_on_two_hosts_prints_no_more_than_their_link_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = on_two_machines("en")
    assert on_two_machines("zh") == command
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", environ()["PYTHONPATH"])
    cheap = ["--batch", "1", "--samples", "1"]
    with Network(2, GIGABIT) as made:
        ends = made.run(torchrun_on_a_host, [*command, *cheap], timeout=5 * DEADLINE_S)
    said = "\n".join(complaints for _, _, complaints, _ in ends)
    assert [status for status, *_ in ends] == [0, 0], said
    printed = "\n".join(written for _, written, _, _ in ends)  # by rank 0, on whichever host it is
    assert [line[:20] for line in printed.splitlines() if line.startswith("2 ranks on ")] == ["2 ranks on cpu, gloo"]
    assert "a gradient of 45.0 MB" in printed or "no line fits these times" in printed
    assert too_early(printed, GIGABIT) == [], printed
    for _, _, _, nbytes in ends:
        assert nbytes > GRADIENT, "both hosts take part: each sends a gradient at least"


@needs_namespaces
def test_after_a_step_ranks_agree_until_one_alters_a_parameter(pair: Network) -> None:
    found, other = pair.run(compare_after_a_step, 2, timeout=4 * DEADLINE_S)
    assert found == other
    assert found[0] == "", "gradients and parameters are the same though the images differ"
    assert found[1].startswith("rank 1 has parameters '")
    assert ", but rank 0 has '" in found[1]
    assert found[2].startswith("rank 1 has last '"), "without an all-reduce, images that differ drive the ranks apart"
