"""Crews of workers: what they answer, where they run, how a failure is told, and that none outlives its parent."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from time import perf_counter

import pytest
import torch

from dlperf import workers
from dlperf.environment import pinnable_cores
from dlperf.workers import START_DELAY_S, WorkerError, Workers, own_cores, wait_until
from tests import hosts, processes
from tests.conftest import ROOT
from tests.processes import DEADLINE_S, alive, busy, fail_beside_busy, wait_until_busy

linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel of another system does not end a busy worker")


def square(x: int) -> int:
    return x * x


def told(rank: int, *words: str) -> tuple[int, int, tuple[str, ...]]:
    return rank, os.getpid(), words


def begins(rank: int, moment: float) -> float:
    wait_until(moment)
    return perf_counter()


def said(rank: int) -> str | None:
    return os.environ.get("SAID_TO_WORKERS")


def threads(rank: int) -> tuple[int, int]:
    import torch

    return torch.get_num_threads(), torch.ones(4).add(1).shape[0]


def dies(rank: int) -> None:
    os._exit(3)


def unspeakable(rank: int) -> object:
    return lambda: rank


def test_every_worker_has_a_rank_and_a_process_of_its_own() -> None:
    with Workers(3) as crew:
        answers = crew.run(told, "a", "b")
    assert [(rank, words) for rank, _, words in answers] == [(rank, ("a", "b")) for rank in range(3)]
    assert len({os.getpid(), *(pid for _, pid, _ in answers)}) == 4


def test_items_go_to_the_first_workers_one_each() -> None:
    with Workers(3) as crew:
        assert crew.map(square, [2, 3]) == [4, 9]
        assert crew.map(square, []) == []
        with pytest.raises(ValueError, match="3 workers take one item each, got 4"):
            crew.map(square, range(4))
        assert crew.map(square, range(3)) == [0, 1, 4]


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not pin processes")
def test_cores_are_taken_in_rotation_and_none_is_taken_unasked() -> None:
    cores = pinnable_cores()[:2]
    with Workers(3, cores) as pinned, Workers(1) as free:
        assert [os.sched_getaffinity(p.pid) for p in pinned.processes] == [{cores[i % len(cores)]} for i in range(3)]
        assert os.sched_getaffinity(free.processes[0].pid) == os.sched_getaffinity(0)


def test_there_is_own_cores_or_none_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "pinnable_cores", lambda: [4, 5, 6])
    assert own_cores(2) == [4, 5]
    assert own_cores(4) == []


def test_workers_begin_at_the_agreed_moment() -> None:
    with Workers(2) as crew:
        crew.run(begins, 0.0)  # now each has imported this module
        moment = workers.synchronized_start()
        assert min(crew.run(begins, moment)) >= moment


def test_the_moment_at_which_to_begin_lies_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "perf_counter", lambda: 100.0)
    assert workers.synchronized_start() == 100.0 + START_DELAY_S > 100.0


WITHOUT_PYTORCH = """
from dlperf.workers import Workers
from tests.hosts import has_imported, threads
with Workers(1) as crew:
    print(crew.run(has_imported, ["torch"]), crew.run(threads), crew.run(has_imported, ["torch"]))
"""


@linux
def test_workers_need_not_import_pytorch_if_the_program_has_and_compute_with_one_thread() -> None:
    with Workers(1) as crew:
        assert crew.run(hosts.has_imported, [torch.__name__]) == [True]
        assert crew.run(threads) == [(1, 4)]


def test_workers_do_not_import_pytorch_before_it_is_needed() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_PYTORCH], capture_output=True, text=True, env=environ())
    assert done.stdout == "[False] [1] [True]\n", done.stderr


def test_workers_have_the_environment_of_the_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    for word in ("one", "another"):
        monkeypatch.setenv("SAID_TO_WORKERS", word)
        with Workers(1) as crew:
            assert crew.run(said) == [word]


def test_one_thread_also_where_the_main_module_has_imported_pytorch(tmp_path: Path) -> None:
    script = tmp_path / "main.py"
    script.write_text(
        "import torch\nfrom dlperf.workers import Workers\nfrom tests.test_workers import threads\n"
        "if __name__ == '__main__':\n    with Workers(1) as crew:\n        print(crew.run(threads))\n"
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environ())
    assert done.stdout == "[(1, 4)]\n", done.stderr


def test_the_first_failure_is_raised_while_others_are_busy_with_its_traceback(tmp_path: Path) -> None:
    """Whoever waited for worker 0, which is busy for days, would run into the deadline, which is another error."""
    with Workers(2) as crew:
        with pytest.raises(WorkerError, match=r"worker 1 failed in fail_beside_busy(.|\n)*no such gradient") as caught:
            crew.run(fail_beside_busy, str(tmp_path), timeout=2 * DEADLINE_S)
        assert caught.value.rank == 1
        assert not alive(process.pid for process in crew.processes)
        with pytest.raises(RuntimeError, match="these workers have ended"):
            crew.run(told)


def test_a_time_limit_names_who_is_late() -> None:
    with Workers(2) as crew, pytest.raises(TimeoutError, match=r"worker 0, 1 did not answer within 0.1 s in busy"):
        crew.run(busy, timeout=0.1)
    assert not alive(process.pid for process in crew.processes)


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan")])
def test_a_time_limit_is_positive(limit: float) -> None:
    with Workers(1) as crew, pytest.raises(ValueError, match=f"positive number of seconds.*got {limit}"):
        crew.run(told, timeout=limit)


def test_a_worker_that_ends_is_told_of() -> None:
    with Workers(1) as crew, pytest.raises(WorkerError, match="worker 0 failed in dies: its process has ended"):
        crew.run(dies)


def test_what_cannot_be_sent_harms_nobody() -> None:
    with Workers(1) as crew:
        with pytest.raises((AttributeError, Exception), match="lambda"):
            crew.run(lambda rank: rank)
        assert crew.map(square, [5]) == [25]


def test_an_answer_that_cannot_be_sent_is_a_failure() -> None:
    with Workers(1) as crew, pytest.raises(WorkerError, match=r"worker 0 failed in unspeakable(.|\n)*pickle"):
        crew.run(unspeakable)


def test_no_crew_is_empty() -> None:
    with pytest.raises(ValueError, match="at least one worker, got 0"):
        Workers(0)


def test_a_partial_shows_what_it_is() -> None:
    assert workers.name_of(square) == "square"
    assert "square" in workers.name_of(partial(square, 2))


def test_workers_end_with_the_block_in_their_own_way() -> None:
    with Workers(2) as crew:
        crew.run(told)
    assert [process.exitcode for process in crew.processes] == [0, 0]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_busy_workers_end_with_a_block_that_fails(error: type[BaseException], tmp_path: Path) -> None:
    crew = Workers(2)
    with pytest.raises(error), crew:
        _leave_busy(crew, error(), tmp_path)
    assert not alive(process.pid for process in crew.processes)


def _leave_busy(crew: Workers, error: BaseException, folder: Path) -> None:
    """Raises an error while the workers are busy and nobody waits for them."""
    for rank, pipe in enumerate(crew._pipes):
        pipe.send_bytes(pickle.dumps((busy, (rank, str(folder)))))
    assert wait_until_busy(range(2), folder)
    raise error


def environ() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'code'}:{ROOT}"}


@linux
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_busy_workers_end_with_their_parent(number: signal.Signals, tmp_path: Path) -> None:
    code = """
import sys
from dlperf.workers import Workers
from tests.processes import busy
with Workers(2) as crew:
    print(*(process.pid for process in crew.processes), flush=True)
    crew.run(busy, sys.argv[1])
"""
    command = [sys.executable, "-c", code, str(tmp_path)]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ())
    try:
        assert parent.stdout
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert wait_until_busy(range(2), tmp_path)
        assert len(alive(pids)) == 2
        parent.send_signal(number)
        assert processes.wait_until(lambda: not alive(pids)), f"still there: {alive(pids)}"
    finally:
        parent.kill()
        parent.communicate()


@linux
def test_a_worker_whose_parent_has_ended_before_it_asked_ends() -> None:
    code = "from dlperf.forked import end_with_parent as end; end({}); print('alive')"
    for parent, said in ((os.getpid(), "alive\n"), (1, "")):
        done = subprocess.run(
            [sys.executable, "-c", code.format(parent)], capture_output=True, text=True, env=environ()
        )
        assert done.stdout == said
