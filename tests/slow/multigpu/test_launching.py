"""Launching: what comes back, what is shown, what a failure says wherever it happens, and that nothing is left."""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest
import torch
import torch.distributed as dist
from nbclient import NotebookClient

from dlperf.environment import places
from dlperf.multigpu.group import device_of
from dlperf.multigpu.launching import launch
from dlperf.workers import WorkerError
from tests.conftest import ROOT
from tests.processes import alive, busy, soon

linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel of another system does not end a busy process")


def who(rank: int, size: int, word: str) -> dict[str, object]:
    return {
        "word": word,
        "ranks": (rank, size, dist.get_rank(), dist.get_world_size()),
        "told": [os.environ[name] for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE")],
        "cores": os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(),
        "threads": (torch.get_num_threads(), os.environ["OMP_NUM_THREADS"]),
    }


def summed(rank: int, size: int) -> torch.Tensor:
    x = torch.full((3,), float(rank + 1), device=device_of(rank, size))
    dist.all_reduce(x)
    return x.cpu()


def large(rank: int, size: int) -> bytes:
    return bytes(10_000_000)


def speaks(rank: int, size: int) -> None:
    for line in range(3):
        print("line", line, "of", rank)
    print("trouble", rank, file=sys.stderr)


def raises(rank: int, size: int) -> None:
    if rank == 1:
        print("before")
        raise ValueError("no such gradient")
    dist.barrier()


def leaves(rank: int, size: int) -> None:
    if rank == 1:
        sys.exit(0)
    dist.barrier()


def dies_in_a_collective(rank: int, size: int, number: int) -> None:
    x = torch.ones(1, device=device_of(rank, size))
    dist.all_reduce(x)
    if rank == 1:
        os.kill(os.getpid(), number) if number else os._exit(3)
    dist.all_reduce(x)
    x.sum().item()


def second_fails_first(rank: int, size: int) -> None:
    time.sleep(0.0 if rank == 2 else 0.02)
    raise ValueError(f"trouble {rank}")


def hangs(rank: int, size: int) -> None:
    if rank == 1:
        dist.barrier()


def unspeakable(rank: int, size: int) -> object:
    return lambda: rank


def works(rank: int, size: int, folder: Path) -> None:
    """Leaves its number and that of a process that it has started, and is busy without Python."""
    child = subprocess.Popen(["sleep", "1000"])
    (folder / f"{rank}.part").write_text(f"{os.getpid()} {child.pid}")
    (folder / f"{rank}.part").rename(folder / f"{rank}.pids")
    busy(rank)


def nothing(rank: int, size: int, *_: object) -> int:
    return rank


class Trap:
    """What acts in process 1, or in all, when it is unpickled there: before the process joins its group."""

    def __init__(self, act: Callable[[], object]) -> None:
        self.act = act

    def __reduce__(self) -> tuple[object, ...]:
        return _spring, (self.act,)


def _spring(act: Callable[[], object]) -> object:
    return act()


def _die() -> None:
    if os.environ["RANK"] == "1":
        os.kill(os.getpid(), signal.SIGKILL)


def _raise() -> None:
    if os.environ["RANK"] == "1":
        raise ValueError("no such gradient")


def _die_while_waiting() -> None:
    """Has process 1 come late, and process 0 die while it waits for it."""
    if os.environ["RANK"] == "1":
        time.sleep(100)
    threading.Timer(0.3, os._exit, (3,)).start()


def _numbers(folder: Path, count: int) -> list[int]:
    """Returns the numbers that so many processes have left in a folder, when they have."""
    assert soon(lambda: len(list(folder.glob("*.pids"))) == count, 60)
    return [int(number) for file in folder.glob("*.pids") for number in file.read_text().split()]


def test_each_process_has_a_rank_a_core_and_a_thread() -> None:
    before = os.environ.get("OMP_NUM_THREADS"), signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    answers = launch(who, 2, "word")
    assert [answer["word"] for answer in answers] == ["word", "word"]
    assert [answer["ranks"] for answer in answers] == [(0, 2, 0, 2), (1, 2, 1, 2)]
    assert [answer["told"] for answer in answers] == [["0", "0", "2", "2"], ["1", "1", "2", "2"]]
    assert [answer["threads"] for answer in answers] == [(1, "1")] * 2
    if len(places()) >= 2 and device_of(0, 2).type == "cpu":
        assert [answer["cores"] for answer in answers] == [{core} for core in places()[:2]]
    after = os.environ.get("OMP_NUM_THREADS"), signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    assert after == before


def test_they_are_one_process_group_whatever_listens_elsewhere() -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(("127.0.0.1", 29500))  # the port that torchrun would take
        taken.listen()
        assert [answer.tolist() for answer in launch(summed, 3)] == [[6.0] * 3] * 3


def test_answers_may_be_larger_than_a_pipe() -> None:
    assert [len(answer) for answer in launch(large, 1)] == [10_000_000]


def test_what_they_write_is_shown_with_its_rank(capsys: pytest.CaptureFixture[str]) -> None:
    launch(speaks, 2)
    out, err = capsys.readouterr()
    for rank in range(2):
        mine = [line for line in out.splitlines() if line.startswith(f"[rank {rank}] ")]
        assert mine == [f"[rank {rank}] line {line} of {rank}" for line in range(3)]
    assert sorted(line for line in err.splitlines() if "trouble" in line) == [
        "[rank 0] trouble 0",
        "[rank 1] trouble 1",
    ]


def test_what_one_raises_comes_with_its_rank_and_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(WorkerError, match=r"rank 1 failed in raises: Traceback(.|\n)*no such gradient") as caught:
        launch(raises, 2)
    assert caught.value.rank == 1
    out, err = capfd.readouterr()
    assert "[rank 1] before" in out
    assert "Terminating" not in err, "the launcher's own noise would bury the failure"


def test_the_first_failure_is_the_one_that_is_raised() -> None:
    with pytest.raises(WorkerError, match="trouble 2") as caught:
        launch(second_fails_first, 3)
    assert caught.value.rank == 2


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (0, "its process ended with exit code 3"),
        (signal.SIGKILL, "its process was ended by SIGKILL"),
    ],
)
def test_who_dies_in_a_collective_is_named(number: int, said: str) -> None:
    with pytest.raises(WorkerError, match=said) as caught:
        launch(dies_in_a_collective, 2, int(number))
    assert caught.value.rank == 1


@pytest.mark.parametrize(
    ("act", "rank", "said"),
    [
        (_die, 1, "its process was ended by SIGKILL"),
        (_raise, 1, "no such gradient"),
        (_die_while_waiting, 0, "its process ended with exit code 3"),
    ],
)
def test_who_dies_before_they_have_met_is_named(act: Callable[[], None], rank: int, said: str) -> None:
    with pytest.raises(WorkerError, match=said) as caught:
        launch(nothing, 2, Trap(act))
    assert caught.value.rank == rank


def test_who_leaves_without_an_answer_has_failed() -> None:
    with pytest.raises(WorkerError, match=r"rank 1 failed in leaves(.|\n)*SystemExit: 0"):
        launch(leaves, 2)


def test_an_answer_that_cannot_be_sent_is_a_failure() -> None:
    with pytest.raises(WorkerError, match=r"failed in unspeakable(.|\n)*pickle"):
        launch(unspeakable, 1)


def test_a_time_limit_names_who_is_late() -> None:
    start = time.monotonic()
    with pytest.raises(TimeoutError, match=r"rank (0, )?1 did not answer within 5 s in hangs"):
        launch(hangs, 2, timeout=5)
    assert time.monotonic() - start < 60, "it waited in vain"


def test_what_cannot_be_sent_starts_nothing() -> None:
    with pytest.raises(TypeError, match=r"<lambda> and its arguments must be sent to other processes.*lambda"):
        launch(lambda rank, size: rank, 2)
    with pytest.raises(TypeError, match="nothing and its arguments"):
        launch(nothing, 2, threading.Lock())


def test_a_function_of_a_notebook_is_refused() -> None:
    code = (
        "from dlperf.multigpu.launching import launch\ndef train(rank, size): pass\ntry:\n    launch(train, 2)\n"
        "except TypeError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environ(), timeout=300)
    assert done.stdout == "other processes cannot see train, defined in a notebook: put it into a module\n"


def test_a_function_of_the_script_itself_may_be_launched(tmp_path: Path) -> None:
    script = tmp_path / "main.py"
    script.write_text(
        "from dlperf.multigpu.launching import launch\n\n\ndef train(rank, size):\n    return rank + size\n\n\n"
        "if __name__ == '__main__':\n    print(launch(train, 2))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environ(), timeout=300)
    assert done.stdout == "[2, 3]\n", done.stderr


def test_a_script_that_launches_when_it_is_imported_is_told(tmp_path: Path) -> None:
    script = tmp_path / "main.py"
    script.write_text(
        "from dlperf.multigpu.launching import launch\nfrom tests.slow.multigpu.test_launching import nothing\n"
        "launch(nothing, 1)\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environ(), timeout=300)
    assert done.stderr.endswith("before it began: does the script launch under if __name__ == '__main__'?\n")


def test_in_a_notebook_their_words_and_their_failure_are_outputs_of_the_cell() -> None:
    cells = [
        "from dlperf.multigpu.launching import launch\nfrom tests.slow.multigpu.test_launching import raises, speaks",
        "launch(speaks, 2)",
        "launch(raises, 2)",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    client = NotebookClient(book, timeout=300, allow_errors=True, resources={"metadata": {"path": str(ROOT)}})
    client.execute(env=environ())
    spoken = book.cells[1].outputs
    said = {name: "".join(o.text for o in spoken if o.get("name") == name) for name in ("stdout", "stderr")}
    assert sorted(said["stdout"].splitlines()) == [f"[rank {r}] line {i} of {r}" for r in range(2) for i in range(3)]
    assert sorted(said["stderr"].splitlines()) == ["[rank 0] trouble 0", "[rank 1] trouble 1"]
    (error,) = (output for output in book.cells[2].outputs if output.output_type == "error")
    assert error.ename == "WorkerError"
    assert "ValueError: no such gradient" in error.evalue


@pytest.mark.parametrize("size", [0, -1])
def test_no_launch_is_empty(size: int) -> None:
    with pytest.raises(ValueError, match=f"at least one process, got world_size={size}"):
        launch(nothing, size)


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan")])
def test_a_time_limit_is_positive(limit: float) -> None:
    with pytest.raises(ValueError, match=f"positive number of seconds, got {limit}"):
        launch(nothing, 1, timeout=limit)


@linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_busy_processes_end_with_their_launcher(number: signal.Signals, tmp_path: Path) -> None:
    code = f"""
from pathlib import Path
from dlperf.multigpu.launching import launch
from tests.slow.multigpu.test_launching import works
launch(works, 2, Path({str(tmp_path)!r}))
"""
    launcher = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, env=environ())
    pids = _numbers(tmp_path, 2)
    ranks = [int(file.read_text().split()[0]) for file in tmp_path.glob("*.pids")]
    assert len(alive(pids)) == 4
    launcher.send_signal(number)
    assert soon(lambda: not alive(ranks), 10), f"still there: {alive(ranks)}"
    _, said = launcher.communicate(timeout=60)
    if number == signal.SIGINT:
        assert "KeyboardInterrupt" in said
        assert not alive(pids), "what they have started ends with them"
    for pid in alive(pids):
        os.kill(pid, signal.SIGKILL)


@linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_nobody_is_left_of_a_launcher_that_ends_while_it_starts(number: signal.Signals, tmp_path: Path) -> None:
    code = f"""
import time
from pathlib import Path
from torch import multiprocessing
from dlperf.multigpu.launching import launch
started = multiprocessing.start_processes
def slowly(*args, **options):
    context = started(*args, **options)
    Path({str(tmp_path)!r}, "0.part").write_text(" ".join(map(str, context.pids())))
    Path({str(tmp_path)!r}, "0.part").rename({str(tmp_path / "0.pids")!r})
    time.sleep(60)
multiprocessing.start_processes = slowly
from tests.slow.multigpu.test_launching import nothing
launch(nothing, 2)
"""
    launcher = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True, env=environ())
    pids = _numbers(tmp_path, 1)
    launcher.send_signal(number)
    assert soon(lambda: not alive(pids), 100), f"still there: {alive(pids)}"  # they are still importing
    _, said = launcher.communicate(timeout=60)
    assert ("KeyboardInterrupt" in said) == (number == signal.SIGINT)


def environ() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'code'}:{ROOT}"}


def test_the_trap_acts_when_it_is_unpickled() -> None:
    assert pickle.loads(pickle.dumps(Trap(os.getpid))) == os.getpid()
