"""The first rungs as readers run them: the same training, and what was seen of it."""

from __future__ import annotations

import subprocess

import pytest

from dlperf.concise import rungs
from dlperf.concise.memory import Memory
from dlperf.concise.rungs import RungError

WIDTH, BLOCKS = 16, 4
PARAMETERS = 9 * WIDTH + BLOCKS * (12 * WIDTH**2 + 13 * WIDTH) + 10 * (8 * WIDTH + 1)
SHORT = f"--epochs 1 --width {WIDTH}"


def test_two_processes_train_as_one_does_and_are_seen() -> None:
    one = rungs.run(f"python one.py {SHORT}", seen=True)
    ddp = rungs.run(f"torchrun --standalone --nproc-per-node 2 ddp.py {SHORT}", seen=True)
    assert ddp.losses[0] == pytest.approx(one.losses[0], rel=0.05)  # of another half of the last batch
    assert [trace.rank for trace in ddp.traces] == [0, 1]
    for trace in (*one.traces, *ddp.traces):
        bytes_of = Memory(4 * PARAMETERS, 4 * PARAMETERS, 8 * PARAMETERS, trace.memory.activations)
        assert trace.memory == bytes_of
        assert all(len(trace.parts[part]) == 1 for part in ("forward", "backward", "update"))
    assert ddp.traces[0].memory.activations * 2 == one.traces[0].memory.activations
    assert one.traces[0].messages == {}
    assert len(ddp.traces[0].messages["all_reduce"]) == 1  # all gradients fit into the first bucket
    assert not any(trace.sent for trace in ddp.traces)


def test_a_failing_script_says_why() -> None:
    with pytest.raises(RungError, match=r"'python one.py --nonsense' ended with exit status 2(.|\n)*--nonsense"):
        rungs.run("python one.py --nonsense")


def test_a_command_that_is_left_ends() -> None:
    with rungs.started("python one.py --epochs 100000", rungs.SCRIPTS["one"].parent, {}) as process:
        assert process.poll() is None
    assert isinstance(process, subprocess.Popen)
    assert process.returncode is not None
