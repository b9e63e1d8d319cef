"""Which rank stands where, asked from outside by py-spy: the rank that waits, and the one that left its sum out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dlperf.concise import diagnosis
from tests.conftest import ROOT
from tests.processes import wait_until

PY_SPY = Path(sys.executable).with_name("py-spy")
"""`make long` installs it."""
SCRIPT = """
import sys, time
from pathlib import Path
import torch.distributed as dist
from dlperf.concise.diagnosis import one_is_missing

rank, store = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method="file://" + store, rank=rank, world_size=2)

def validate():
    Path(store + "-validates").touch()
    time.sleep(3600)

one_is_missing(rank)
validate()
"""


@contextmanager
def two_ranks(folder: Path) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Starts both ranks, and kills them with the block."""
    script = folder / "stands.py"
    script.write_text(SCRIPT, encoding="utf-8")
    command, given = [sys.executable, str(script)], {**os.environ, "PYTHONPATH": str(ROOT / "code")}
    ranks = [subprocess.Popen([*command, str(rank), str(folder / "store")], env=given) for rank in range(2)]
    try:
        yield ranks
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()


def dumped(process: int) -> str:
    """Returns what py-spy says of a process, innermost call first."""
    done = subprocess.run([PY_SPY, "dump", "--pid", str(process)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_py_spy_shows_the_line_in_which_each_rank_stands(tmp_path: Path) -> None:
    source = Path(str(diagnosis.__file__)).read_text(encoding="utf-8").splitlines()
    second = max(number for number, line in enumerate(source, 1) if line.strip() == "dist.all_reduce(gradient)")
    with two_ranks(tmp_path) as (waiting, missing):
        assert wait_until((tmp_path / "store-validates").exists)
        line = re.compile(rf"one_is_missing \(\S*diagnosis\.py:{second}\)")
        assert wait_until(lambda: line.search(dumped(waiting.pid)) is not None)
        said = dumped(missing.pid)
    print(said)
    assert re.search(r"validate \(\S*stands\.py:\d+\)", said)
    assert "one_is_missing" not in said
