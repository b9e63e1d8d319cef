"""Clusters in scripts: one that torchrun's environment describes, and one whose script forgets its main guard."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from dlperf.kvstore import local
from tests.processes import DEADLINE_S

TORCHRUN = [sys.executable, "-m", "torch.distributed.run"]

PROGRAM = """
import os, subprocess, sys, time, torch
from pathlib import Path
from dlperf.kvstore import connect, from_environment
port, rank = int(sys.argv[1]), int(os.environ["RANK"])
config = from_environment(dict(os.environ), port)
run = lambda *command: subprocess.Popen([sys.executable, "-m", "dlperf.kvstore", *command, "--port", str(port)])
beside = [run("serve")] + ([run("schedule")] if rank == 0 else [])
try:
    with connect(config, rank) as store:
        store.create("w", torch.zeros(100_000))
        store.push("w", torch.full((100_000,), rank + 1.0))
        store.clock()
        said = f"rank {rank} of {os.environ['WORLD_SIZE']} reads {store.pull('w').unique().tolist()}"
    os.write(1, said.encode() + b"\\n")  # at once, where `print` may write the end of a line for itself
    folder = Path(sys.argv[0]).parent
    (folder / f"done{rank}").touch()
    while len(list(folder.glob("done*"))) < config.workers:  # others may still be waiting for this server's answer
        time.sleep(0.05)
finally:
    for process in reversed(beside):
        process.terminate()
        process.wait()
"""


def test_servers_and_workers_under_torchrun(tmp_path: Path) -> None:
    script, ports = tmp_path / "script.py", local.free_ports(6)
    meeting = "--master-addr", local.loopback(), "--master-port", str(ports[-1])
    script.write_text(PROGRAM)
    done = subprocess.run(
        [*TORCHRUN, "--nproc-per-node=2", *meeting, script, str(ports[0])],
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if " reads " in line]
    assert sorted(lines) == ["rank 0 of 2 reads [3.0]", "rank 1 of 2 reads [3.0]"]


FORGETFUL = """
from dlperf.kvstore import connect, local
config = local.config()
with local.Cluster(config), connect(config, worker=0):
    print("is up")
"""


def test_a_script_whose_processes_would_start_it_again_is_told_the_line_that_it_lacks(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(FORGETFUL)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.returncode != 0
    assert "is up" not in done.stdout
    said = done.stderr.splitlines()[-1]
    assert said.startswith("RuntimeError: a process ended before it began")
    assert 'if __name__ == "__main__":' in said
