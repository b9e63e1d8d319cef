"""All rungs, as the page runs them: on one machine, on hosts, and after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path
from time import sleep

import pytest

from dlperf.concise import rungs
from dlperf.multigpu.group import hosts
from dlperf.multigpu.traffic import on_wire
from dlperf.network import unavailable

SHORT = "--epochs 2 --width 64"
LAUNCH = "torchrun --standalone --nproc-per-node 2"
KILLS = 20


@pytest.fixture(scope="module")
def one() -> rungs.Run:
    """Returns the run of one process."""
    return rungs.run(f"python one.py {SHORT}", seen=True)


@pytest.mark.parametrize("script", ["ddp.py", "accumulate.py", "sharded.py"])
def test_every_rung_trains_as_one_process_does(one: rungs.Run, script: str) -> None:
    found = rungs.run(f"{LAUNCH} {script} {SHORT}", seen=True)
    assert found.losses == {epoch: pytest.approx(loss, rel=0.01) for epoch, loss in one.losses.items()}
    assert found.right == pytest.approx(one.right, abs=0.01)


def test_forward_outside_of_no_sync_sends_with_every_piece() -> None:
    inside = """                scores = model(images.to(device))
                loss = cross_entropy(scores, labels.to(device))
                (loss"""
    outside = {
        "            with nullcontext() if last else model.no_sync():\n" + inside: """\
            scores = model(images.to(device))
            loss = cross_entropy(scores, labels.to(device))
            with nullcontext() if last else model.no_sync():
                (loss"""
    }
    right = rungs.run(f"{LAUNCH} accumulate.py {SHORT}", seen=True)
    wrong = rungs.run(f"{LAUNCH} accumulate.py {SHORT}", seen=True, change=outside)
    assert len(wrong.traces[0].messages["all_reduce"]) == 4 * len(right.traces[0].messages["all_reduce"])


@pytest.mark.skipif(bool(unavailable()), reason=unavailable())
def test_hosts_send_what_the_formulas_say() -> None:
    with hosts(2) as crew:
        ddp = rungs.run_on_hosts(crew, f"ddp.py {SHORT}", seen=True)
        sharded = rungs.run_on_hosts(crew, f"sharded.py {SHORT} --pieces 1", seen=True)
    gradients = ddp.traces[0].memory.gradients
    assert ddp.traces[0].sent == pytest.approx(on_wire(gradients), rel=0.02)
    assert sharded.traces[0].sent == pytest.approx(on_wire(2 * gradients), rel=0.02)


@pytest.mark.parametrize("saved", range(KILLS))
def test_a_killed_run_ends_as_the_unbroken_one(saved: int, unbroken: rungs.Run) -> None:
    checkpoint = f"{3 * (1 + saved % 10):06d}"
    found = rungs.run_killed(f"{LAUNCH} --max-restarts 3 restarted.py {SHORT} --every 3", checkpoint)
    assert len(found.resumed) == 1
    assert found.resumed[0] >= int(checkpoint)  # a run begun anew would end with the same loss
    assert found.losses[1] == unbroken.losses[1]
    assert found.right == unbroken.right


def kill_while_saving(launcher: subprocess.Popen[str], part: Path, command: str) -> None:
    """Kills rank 0 while it writes a checkpoint: all stand still while it is seen that this has not got its name yet.

    Raises `rungs.TooLate` where it has, so that another run is begun.
    """
    while not part.exists():
        if launcher.poll() is not None:
            raise rungs.TooLate
        sleep(0.001)
    processes = rungs.workers(launcher.pid)
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    saving = part.exists()
    if saving:
        os.kill(min(processes), signal.SIGKILL)
    for process in processes[not saving :]:
        os.kill(process, signal.SIGCONT)
    if not saving:
        raise rungs.TooLate


@pytest.mark.parametrize("saving", range(KILLS))
def test_a_run_killed_while_it_saves_goes_on_from_the_checkpoint_before(
    saving: int, unbroken: rungs.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rungs, "kill_one", kill_while_saving)
    step = 3 * (2 + saving % 9)
    found = rungs.run_killed(f"{LAUNCH} --max-restarts 3 restarted.py {SHORT} --every 3", f"{step:06d}.part")
    assert found.resumed == (step - 3,)
    assert found.losses[1] == unbroken.losses[1]
    assert found.right == unbroken.right


@pytest.fixture(scope="module")
def unbroken() -> rungs.Run:
    """Returns the run that nobody killed."""
    found = rungs.run(f"{LAUNCH} --max-restarts 3 restarted.py {SHORT} --every 3")
    assert found.resumed == ()
    return found
