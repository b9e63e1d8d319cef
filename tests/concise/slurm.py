"""A Slurm cluster of one node with two cores: Debian's `slurm-wlm` and `munge`, in a folder of its own."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from dlperf.concise.rungs import free_port
from tests.processes import wait_until

PROGRAMS = "munged", "slurmctld", "slurmd", "sbatch", "srun"
PATH = os.pathsep.join((os.environ["PATH"], "/usr/sbin"))
"""Where Debian has daemons, which a user's path may lack."""
CONFIGURATION = """
ClusterName=book
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
MpiDefault=none
ReturnToService=2
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing() -> list[str]:
    """Returns the programs that a cluster needs, and that are not installed here."""
    return [name for name in PROGRAMS if shutil.which(name, path=PATH) is None]


@contextmanager
def cluster(folder: Path) -> Iterator[dict[str, str]]:
    """Starts a cluster, whose files lie in ``folder``; yields the environment that Slurm's commands need.

    Raises RuntimeError with what the daemons have said if no node becomes idle.
    """
    host = socket.gethostname().partition(".")[0]
    user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key, configuration = folder / "munge.key", folder / "slurm.conf"
    key.touch(0o600)
    key.write_bytes(secrets.token_bytes(1024))
    text = CONFIGURATION.format(host=host, user=user, folder=folder, ports=(free_port(), free_port()))
    configuration.write_text(text, encoding="utf-8")
    environment = {**os.environ, "PATH": PATH, "SLURM_CONF": str(configuration)}
    own = [f"--{name}-file={folder}/munge.{name}" for name in ("key", "pid", "log", "seed")]
    with ExitStack() as running:
        for command in (
            ["munged", "--foreground", "--force", f"--socket={folder}/munge.socket", *own],
            ["slurmctld", "-D"],
            ["slurmd", "-D"],
        ):
            running.enter_context(_daemon(command, folder, environment))
        if not wait_until(lambda: "idle" in _said(["sinfo", "--noheader"], environment)):
            logs = "\n".join(path.read_text(errors="replace") for path in sorted(folder.glob("*.out")))
            raise RuntimeError(f"no node of the cluster is idle:\n{logs}")
        yield environment


@contextmanager
def _daemon(command: Sequence[str], folder: Path, environment: dict[str, str]) -> Iterator[None]:
    with (folder / f"{command[0]}.out").open("w") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
        try:
            yield
        finally:
            process.terminate()
            process.wait()


def _said(command: Sequence[str], environment: dict[str, str]) -> str:
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False).stdout
