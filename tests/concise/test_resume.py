"""The parts of the training script that need no ranks: the order of the data, and which checkpoint counts."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from dlperf.concise import drawings_faults, faults, resume
from dlperf.concise.faults import AtStep, Death, History, Line, WhileSaving
from dlperf.drawing import WIDTH


@pytest.fixture
def one_rank(tmp_path: Path) -> Iterator[None]:
    dist.init_process_group("gloo", init_method=f"file://{tmp_path / 'store'}", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.usefixtures("one_rank")
@pytest.mark.parametrize("step", [1, 7, 30, 31])
def test_batches_from_a_step_on_are_the_rest_of_those_from_the_start(step: int) -> None:
    data = torch.arange(100)
    whole = torch.stack(list(islice(resume.batches(data, 0, 10), 40)))
    rest = torch.stack(list(islice(resume.batches(data, step, 10), 40 - step)))
    assert torch.equal(whole[step:], rest)
    assert not torch.equal(whole[:10], whole[10:20])  # each epoch has an order of its own
    assert torch.equal(whole[:10].flatten().sort().values, data)


def test_the_newest_complete_checkpoint_is_the_latest(tmp_path: Path) -> None:
    assert resume.latest(tmp_path) is None
    for name in ("step-00000010", "step-00000020", "step-00000030.partial"):
        (tmp_path / name).mkdir()
    assert resume.latest(tmp_path) == tmp_path / "step-00000020"
    assert faults.unfinished(tmp_path) == ("step-00000030.partial",)


def said(attempt: int, rank: int, step: int, loss: float, moment: float = 0.0) -> Line:
    return Line(attempt, rank, {"step": step, "loss": loss, "moment": moment})


def ended(*lines: Line, weights: str = "a") -> History:
    return History([*lines, *(Line(0, rank, {"weights": weights, "moment": 9.0}) for rank in (0, 1))])


UNBROKEN = ended(*(said(0, rank, step, 1 / step) for rank in (0, 1) for step in (1, 2, 3)))


def test_a_history_is_the_same_only_with_every_step_loss_and_weight() -> None:
    lines = [line for line in UNBROKEN.lines if "step" in line.what]
    again = [said(1, rank, step, 1 / step) for rank in (0, 1) for step in (2, 3)]
    assert faults.same(ended(*lines, *again), UNBROKEN)
    assert not faults.same(ended(*lines, said(1, 0, 2, 0.5 + 1e-16 + 1e-12)), UNBROKEN)
    assert not faults.same(ended(*lines[:-1]), UNBROKEN)
    assert not faults.same(ended(*lines, weights="b"), UNBROKEN)


def test_a_history_counts_attempts_repeated_steps_and_the_pause() -> None:
    history = ended(said(0, 0, 1, 1.0, 1.0), said(0, 0, 2, 0.5, 2.0), said(1, 0, 2, 0.5, 7.5))
    assert history.attempts() == 2
    assert history.repeated() == 1
    assert history.pause(Death(0, 1, 2, 2.5, ())) == 5.0


def test_moments_come_with_a_step_and_with_a_folder(tmp_path: Path) -> None:
    history = History([said(0, 0, 1, 1.0), said(0, 0, 2, 1.0)])
    assert AtStep(1, 2).has_come(history, tmp_path)
    assert not AtStep(1, 3).has_come(history, tmp_path)
    assert not WhileSaving(1, 2).has_come(history, tmp_path)
    (tmp_path / "step-00000002.partial").mkdir()
    assert WhileSaving(1, 2).has_come(history, tmp_path)
    assert not WhileSaving(1, 3).has_come(history, tmp_path)
    assert not WhileSaving(1, 2).has_come(History([]), tmp_path)  # what the last attempt left


def test_the_drawing_has_the_width_of_all() -> None:
    assert drawings_faults.killed().get_figwidth() == WIDTH
