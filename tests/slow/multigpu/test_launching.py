"""Launching: what comes back, what is shown, what a failure says wherever it happens, and that nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from dlperf.environment import pinnable_cores
from dlperf.multigpu.group import device_of
from dlperf.multigpu.launching import launch
from dlperf.workers import WorkerError
from tests.conftest import ROOT
from tests.multigpu.programs import (
    describe,
    environ,
    hang,
    launch_and_kill,
    leave,
    pid_at,
    return_lambda,
)
from tests.processes import DEADLINE_S, alive, wait_until

linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel of another system does not end a busy process")


def state() -> tuple[object, ...]:
    """Returns what a launch must leave as it was."""
    return os.environ.get("OMP_NUM_THREADS"), signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)


def run_script(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    """Runs a script of a reader."""
    script = folder / "main.py"
    script.write_text(source)
    command = [sys.executable, str(script)]
    return subprocess.run(command, capture_output=True, text=True, env=environ(), timeout=3 * DEADLINE_S)


def test_processes_are_one_group_and_answer_and_their_lines_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    before = state()
    answers = launch(describe, 2, "word")
    assert [answer["word"] for answer in answers] == ["word", "word"]
    assert [answer["ranks"] for answer in answers] == [(0, 2, 0, 2), (1, 2, 1, 2)]
    assert [answer["variables"] for answer in answers] == [["0", "0", "2", "2"], ["1", "1", "2", "2"]]
    assert [answer["threads"] for answer in answers] == [(1, "1")] * 2
    if len(pinnable_cores()) >= 2 and device_of(0, 2).type == "cpu":
        assert [answer["cores"] for answer in answers] == [{core} for core in pinnable_cores()[:2]]
    assert [answer["sum"] for answer in answers] == [[3.0] * 3] * 2
    assert [len(answer["large"]) for answer in answers] == [10_000_000] * 2
    assert state() == before
    out, err = capsys.readouterr()
    for rank in range(2):
        lines = [line for line in out.splitlines() if line.startswith(f"[rank {rank}] ")]
        assert lines == [f"[rank {rank}] line {line} of {rank}" for line in range(3)]
    assert {line for line in err.splitlines() if "trouble" in line} == {"[rank 0] trouble 0", "[rank 1] trouble 1"}


@pytest.mark.parametrize(
    ("event", "rank", "hold"),
    [
        ("unpickled", 1, [("unpickled", 1)]),  # before the rendezvous, where the other waits
        ("rendezvous", 0, [("unpickled", 1)]),  # in it: the other never comes
        ("stuck", 0, []),  # in a collective, while the other is busy without Python
    ],
)
def test_a_killed_rank_is_named_wherever_it_was(
    tmp_path: Path, event: str, rank: int, hold: list[tuple[str, int]]
) -> None:
    error = launch_and_kill(tmp_path / "events", event, rank, 2, hold)
    assert (error.rank, "its process was ended by SIGKILL" in str(error)) == (rank, True), error


def test_a_rank_that_leaves_without_an_answer_has_failed() -> None:
    with pytest.raises(WorkerError, match=r"rank 0 failed in leave(.|\n)*SystemExit: 0"):
        launch(leave, 1)


def test_an_answer_that_cannot_be_sent_is_a_failure() -> None:
    with pytest.raises(WorkerError, match=r"failed in return_lambda(.|\n)*pickle"):
        launch(return_lambda, 1)


def test_a_time_limit_names_the_ranks_that_are_late() -> None:
    with pytest.raises(TimeoutError, match=r"rank 0 did not answer within 0.01 s in hang"):
        launch(hang, 1, timeout=0.01)


def test_a_function_of_the_script_itself_may_be_launched(tmp_path: Path) -> None:
    done = run_script(
        tmp_path,
        "from dlperf.multigpu.launching import launch\n\n\ndef train(rank, size):\n    return rank + size\n\n\n"
        "if __name__ == '__main__':\n    print(launch(train, 1))\n",
    )
    assert done.stdout == "[1]\n", done.stderr


def test_a_script_that_launches_when_it_is_imported_gets_a_hint(tmp_path: Path) -> None:
    done = run_script(
        tmp_path,
        "from dlperf.multigpu.launching import launch\nfrom tests.multigpu.programs import add\nlaunch(add, 1)\n",
    )
    assert done.stderr.endswith("before it began: does the script launch under if __name__ == '__main__'?\n")


def test_in_a_notebook_lines_and_an_exception_with_rank_and_traceback_are_outputs_of_the_cell() -> None:
    cells = [
        "from dlperf.multigpu.launching import launch\nfrom tests.multigpu.programs import fail",
        "def train(rank, size): pass\nlaunch(train, 2)",
        "launch(fail, 2)",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    resources = {"metadata": {"path": str(ROOT)}}
    client = NotebookClient(
        book, timeout=int(3 * DEADLINE_S), startup_timeout=int(DEADLINE_S), allow_errors=True, resources=resources
    )
    client.execute(env=environ())
    unseen, failed = ([o for o in cell.outputs if o.output_type == "error"] for cell in book.cells[1:])
    assert unseen[0].evalue == "other processes cannot see train, defined in a notebook: put it into a module"
    assert failed[0].ename == "WorkerError"
    assert failed[0].evalue.startswith("rank 1 failed in fail: Traceback")
    assert "ValueError: no such gradient" in failed[0].evalue
    outputs = book.cells[2].outputs
    written = {name: "".join(o.text for o in outputs if o.get("name") == name) for name in ("stdout", "stderr")}
    assert "[rank 1] line of 1" in written["stdout"]
    assert "Terminating" not in written["stderr"], "the launcher's own messages would bury the failure"


@linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_busy_processes_end_with_their_launcher(number: signal.Signals, tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from dlperf.multigpu.launching import launch
from tests.multigpu.programs import start_a_child_and_be_busy
launch(start_a_child_and_be_busy, 2, Path({str(tmp_path)!r}))
"""
    launcher = start_launcher(code, tmp_path)
    pids: list[int] = []
    children: list[int] = []
    try:
        pids += [pid_at(tmp_path, "busy", rank) for rank in range(2)]
        children += [int((tmp_path / f"child-{rank}").read_text()) for rank in range(2)]
        launcher.send_signal(number)
        assert wait_until(lambda: not alive(pids)), f"still there: {alive(pids)}"
        if number == signal.SIGINT:
            assert "KeyboardInterrupt" in launcher.communicate(timeout=DEADLINE_S)[1]
            assert wait_until(lambda: not alive(children)), "what they have started ends with them"
    finally:
        end([launcher.pid, *pids, *children])
        launcher.wait(DEADLINE_S)
        assert launcher.stderr is not None
        launcher.stderr.close()


@linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_no_process_is_left_of_a_launcher_that_ends_while_it_starts(number: signal.Signals, tmp_path: Path) -> None:
    code = f"""
import time
from pathlib import Path
from torch import multiprocessing
from dlperf.multigpu.launching import launch
original = multiprocessing.start_processes
def stop_after_the_start(*args, **options):
    context = original(*args, **options)
    Path({str(tmp_path)!r}, "started.part").write_text(str(context.pids()[0]))
    Path({str(tmp_path)!r}, "started.part").rename({str(tmp_path / "started-0")!r})
    time.sleep({3 * DEADLINE_S})
multiprocessing.start_processes = stop_after_the_start
from tests.multigpu.programs import add
launch(add, 1)
"""
    launcher = start_launcher(code, tmp_path)
    pids: list[int] = []
    try:
        pids.append(pid_at(tmp_path, "started", 0))
        launcher.send_signal(number)
        assert wait_until(lambda: not alive(pids)), f"still there: {alive(pids)}"
        if number == signal.SIGINT:
            assert "KeyboardInterrupt" in launcher.communicate(timeout=DEADLINE_S)[1]
    finally:
        end([launcher.pid, *pids])
        launcher.wait(DEADLINE_S)
        assert launcher.stderr is not None
        launcher.stderr.close()


def start_launcher(code: str, folder: Path) -> subprocess.Popen[str]:
    """Starts a process that launches; a killed one leaves its files in a folder of the test."""
    command = [sys.executable, "-c", code]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environ(TMPDIR=str(folder)))


def end(pids: list[int]) -> None:
    """Ends processes of a test that failed half way."""
    for pid in alive(pids):
        os.kill(pid, signal.SIGKILL)
