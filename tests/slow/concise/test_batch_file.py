"""The script for Slurm that the page prints, on a cluster of stand-ins: each of its lines runs once.

So does `torchrun`, for a script that only says who it is: `ddp.py` itself trains in `test_rungs`. `tests/long` hands
the same script to a real Slurm, and trains.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dlperf.concise import rungs
from tests.concise import slurm
from tests.processes import alive

SCRIPT = next(iter(rungs.SCRIPTS.values())).parent / "ddp.sbatch"
LIMIT_S = 600.0
WHO = """
import os
from pathlib import Path

Path(os.environ["RANK"]).touch()
if os.environ["RANK"] == "0":
    print("epoch 0: loss", os.environ["WORLD_SIZE"])
    print("right 1")
"""
"""In the place of `ddp.py`: a rank leaves a file, and the first prints as a script of the ladder does."""
DAEMON = """
echo $$ >> "$DAEMONS"
exec sleep 1000
"""
STAND_INS = {
    "munged": DAEMON,
    "slurmctld": 'test -d "$(dirname "$SLURM_CONF")/state" || exit 1\n' + DAEMON,
    "slurmd": 'test -d "$(dirname "$SLURM_CONF")/spool" || exit 1\n' + DAEMON,
    "sinfo": 'test "$(wc -l < "$DAEMONS")" -lt 3 || echo "all* up infinite 1 idle node-a"\n',
    "scontrol": 'test "$*" = "show hostnames localhost" && echo localhost\n',
    "srun": 'test "$1 $2" = "--cpus-per-task 2" || exit 1\nshift 2\nexec "$@"\n',
    "sbatch": """
options=()
while [ $# -gt 1 ]; do options+=("$1"); shift; done
test "${options[*]}" = "--wait --nodes 1" || exit 1
export SLURM_JOB_ID=4711 SLURM_JOB_NODELIST=localhost SLURM_NNODES=1
export SLURM_CPUS_PER_TASK=$(sed -n 's/^#SBATCH --cpus-per-task=//p' "$1")
log=$(sed -n 's/^#SBATCH --output=//p' "$1")
sed 's/^port=.*/&; echo "$port" > port; port=$PORT/' "$1" > script
bash script > "${log/\\%j/$SLURM_JOB_ID}" 2>&1
""",
}
"""Slurm's programs as far as a job of one node needs them.

Daemons only note that they run. `sbatch` does what the head of a script says and runs it, with the variables that
Slurm sets, but notes the port and takes one that is free here; `srun` starts the command, as it does for one task.
"""


@pytest.fixture
def stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file to which the stand-ins for daemons, which are on the path now, write their processes."""
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, body in STAND_INS.items():
        (folder / name).write_text(f"#!/bin/bash\n{body}", encoding="utf-8")
        (folder / name).chmod(0o755)
    monkeypatch.setattr(slurm, "PATH", os.pathsep.join((str(folder), os.environ["PATH"])))
    monkeypatch.setenv("PATH", slurm.PATH)  # by which this process finds daemons
    monkeypatch.setenv("DAEMONS", str(tmp_path / "daemons"))
    monkeypatch.setenv("PORT", str(rungs.free_port()))
    return tmp_path / "daemons"


def trained_by_a_job(folder: Path, script: str = "") -> rungs.Run:
    """Returns what the batch file came to as a job of one node; ``script``, if any, is in the place of `ddp.py`.

    The job's files lie in ``folder / "job"``, those of its cluster beside it.
    """
    (folder / "cluster").mkdir()
    job = rungs.lay_out(folder / "job")
    if script:
        (job / "ddp.py").write_text(script, encoding="utf-8")
    with slurm.cluster(folder / "cluster") as environment:
        programs = str(Path(sys.executable).parent)
        ours = {**environment, **rungs.ON_CPU, "PATH": os.pathsep.join((programs, environment["PATH"]))}
        done = subprocess.run(
            ["sbatch", "--wait", "--nodes", "1", str(SCRIPT)],
            cwd=job,
            env={**ours, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            check=False,
        )
    printed = "\n".join(path.read_text(encoding="utf-8") for path in job.glob("ddp-*.log"))
    assert done.returncode == 0, (done.stderr, printed)
    return rungs.result([printed], [job], 0.0)


def test_the_lines_of_the_script_start_a_process_for_each_core(stand_ins: Path, tmp_path: Path) -> None:
    assert slurm.missing() == []
    assert trained_by_a_job(tmp_path, WHO) == rungs.Run({0: 2.0}, 1.0, 0.0)
    assert {"0", "1", "ddp-4711.log"} <= {path.name for path in (tmp_path / "job").iterdir()}
    assert (tmp_path / "job" / "port").read_text(encoding="ascii") == "24711\n"
    assert not alive(map(int, stand_ins.read_text(encoding="ascii").split()))
