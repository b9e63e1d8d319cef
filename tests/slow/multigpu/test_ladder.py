"""The ladder: every rung runs by the command that the page shows, and ends in the weights of the first."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic, sleep

import pytest
import torch

from dlperf import network
from dlperf.multigpu import rungs
from dlperf.multigpu.rungs import Rung
from dlperf.network import Network

SAME = 1e-2 if torch.cuda.is_available() else 1e-5
"""How far weights may be apart, over the largest: 96 steps, each of whose sums float32 rounds at 6e-8 in an order of
its own, came to 2e-7; a batch too large or other examples come to more than 1e-2. A GPU multiplies in TF32."""

why_no_hosts = network.unavailable()
SLURM = ("munged", "slurmctld", "slurmd", "sbatch")
MISSING = [name for name in SLURM if shutil.which(name, path="/usr/sbin:/usr/bin:" + os.environ["PATH"]) is None]


@pytest.fixture(scope="module")
def alone() -> Rung:
    return rungs.run("python one.py")


def agree(rung: Rung, alone: Rung) -> None:
    assert rung.difference(alone) < SAME
    assert rung.right == pytest.approx(alone.right, abs=0.005)
    assert rung.loss == pytest.approx(alone.loss, abs=0.001 if SAME < 1e-3 else 0.05)


def test_the_first_rung_learns(alone: Rung) -> None:
    assert alone.right > 0.8


@pytest.mark.parametrize("command", [rungs.SEVERAL, rungs.LAUNCHED])
def test_a_rung_on_one_host(command: str, alone: Rung) -> None:
    agree(rungs.run(command), alone)


@pytest.mark.skipif(bool(why_no_hosts), reason=why_no_hosts)
def test_the_rung_on_two_hosts(alone: Rung) -> None:
    on_cpu = rungs.run("python one.py", CUDA_VISIBLE_DEVICES="") if torch.cuda.is_available() else alone
    with Network(2) as net:
        agree(rungs.run_on_hosts(net, rungs.ON_HOSTS), on_cpu)


def test_a_failed_rung_says_what_it_wrote() -> None:
    with pytest.raises(rungs.RungError, match=r"'python several.py zero' ended with exit status 1(.|\n)*zero"):
        rungs.run("python several.py zero")


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Slurm's daemons with one node of two cores, as variables for its commands; they end with the test."""
    if MISSING or os.geteuid() != 0:
        pytest.skip(f"Slurm needs root and {', '.join(MISSING) or 'nothing else'}: apt-get install slurm-wlm")
    here = socket.gethostname()
    ports = rungs.free_port(), rungs.free_port()
    key, door, settings = tmp_path / "key", tmp_path / "munge", tmp_path / "slurm.conf"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    settings.write_text(
        f"ClusterName=ladder\nSlurmctldHost={here}(127.0.0.1)\nSlurmUser=root\n"
        f"AuthType=auth/munge\nAuthInfo=socket={door}\nCredType=cred/munge\n"
        f"StateSaveLocation={tmp_path}/state\nSlurmdSpoolDir={tmp_path}/spool\n"
        f"SlurmctldPidFile={tmp_path}/ctld.pid\nSlurmdPidFile={tmp_path}/d.pid\n"
        f"SlurmctldPort={ports[0]}\nSlurmdPort={ports[1]}\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nMpiDefault=none\nReturnToService=2\n"
        "JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n"
        f"NodeName={here} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN\n"
        f"PartitionName=all Nodes={here} Default=YES State=UP\n"
    )
    programs = f"{Path(sys.executable).parent}:/usr/sbin:/usr/bin:{os.environ['PATH']}"
    variables = {**os.environ, "SLURM_CONF": str(settings), "PATH": programs}
    for folder in ("state", "spool"):
        (tmp_path / folder).mkdir()
    munge = [
        f"--socket={door}",
        f"--key-file={key}",
        f"--pid-file={tmp_path}/munge.pid",
        f"--seed-file={tmp_path}/seed",
    ]
    with ExitStack() as ending, (tmp_path / "daemons.log").open("wb") as log:
        for command in (
            ["munged", "--foreground", "--force", *munge],
            ["slurmctld", "-D", "-c"],
            ["slurmd", "-D", "-c"],
        ):
            path = shutil.which(command[0], path=programs)
            assert path is not None
            daemon = subprocess.Popen([path, *command[1:]], env=variables, stdout=log, stderr=log)
            ending.callback(daemon.wait, 30)
            ending.callback(daemon.terminate)
        wait_for("idle", ["sinfo", "--noheader", "--format=%t"], variables, 60)
        yield variables


def wait_for(word: str, command: list[str], variables: dict[str, str], seconds: float) -> None:
    """Waits until a command of Slurm answers with this word."""
    end = monotonic() + seconds
    said = ""
    while monotonic() < end:
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=seconds)
        said = done.stdout.strip() if done.returncode == 0 else done.stderr
        if said == word:
            return
        sleep(0.2)
    raise TimeoutError(f"{command} did not say {word!r} within {seconds} s, but {said!r}")


def test_the_rung_under_slurm(cluster: dict[str, str], tmp_path: Path, alone: Rung) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    rungs.lay_out(folder)
    done = subprocess.run(
        ["sbatch", "--wait", "--nodes=1", "--output=job.out", "job.sh"],
        cwd=folder,
        env=cluster,
        capture_output=True,
        text=True,
        timeout=300,
    )
    said = (folder / "job.out").read_text() if (folder / "job.out").exists() else ""
    assert done.returncode == 0, done.stderr + said
    agree(rungs.read(folder, said, 0.0), alone)
