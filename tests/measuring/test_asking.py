"""What asking costs in a step: on made-up numbers, and by a clock that the test moves."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from torch.profiler import record_function

from dlperf.measuring import asking
from dlperf.measuring.asking import Phased
from dlperf.measuring.model import Machine
from dlperf.models.cost import Operator, operators

HERE = Machine(peak=1e9, bandwidth=1e8, overhead=1e-6)
LARGE = Operator("mm", 10**9, 10**6, "forward")  # 1 s, of compute
MOVED = Operator("add", 0, 10**8, "backward")  # 1 s, of memory
SMALL = [Operator("add", 0, 0, phase) for phase in ("forward", "backward", "update")]
WORK = asking.at_the_roof(HERE)


def test_asking_is_what_phases_take_beyond_their_work_shared_by_their_operators() -> None:
    one = Phased([LARGE, *SMALL[:1] * 9], {"forward": 1.5})
    other = Phased([MOVED, *SMALL], {"forward": 0.06, "backward": 1.2, "update": 0.3})
    found = asking.per_operator([one, other], WORK)
    expected = {"forward": 0.56 / 11, "backward": 0.1, "update": 0.3, "": 1.06 / 14}
    assert found == pytest.approx(expected)


def test_asking_is_never_less_than_nothing_whatever_was_measured() -> None:
    assert asking.per_operator([Phased([LARGE], {"forward": 0.2})], WORK) == {"forward": 0, "": 0}
    assert asking.per_operator([Phased([LARGE], {})], WORK) == {"forward": 0, "": 0}
    with pytest.raises(ValueError, match="have none"):
        asking.per_operator([Phased([], {"forward": 1})], WORK)


def test_a_prediction_adds_asking_to_work_or_takes_the_longer() -> None:
    cost = {"forward": 0.1, "backward": 2.0, "": 0.5}
    ops = [LARGE, MOVED, *SMALL]
    assert asking.predict(ops, WORK, cost) == pytest.approx({"forward": 1.2, "backward": 5, "update": 0.5})
    queued = asking.predict(ops, WORK, cost, queued=True)
    assert queued == pytest.approx({"forward": 1.1, "backward": 4, "update": 0.5})


def test_with_the_same_asking_everywhere_it_is_the_model_of_the_chapter() -> None:
    ops = [LARGE, MOVED, *SMALL]
    for here in (HERE, Machine(1e9, 1e8, 1e-6, queued=True)):
        found = asking.predict(ops, asking.at_the_roof(here), {"": here.overhead}, here.queued)
        assert sum(found.values()) == pytest.approx(sum(here.predict(op.flops, op.bytes) for op in ops))


def test_phases_are_the_outermost_marks_and_what_is_between_them_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    now = SimpleNamespace(seconds=0.0)
    monkeypatch.setattr(asking, "clock", lambda device: lambda: now.seconds)
    before = record_function.__enter__, record_function.__exit__

    def takes(seconds: float) -> None:
        now.seconds += seconds

    def step() -> None:
        with record_function("forward"):
            takes(1)
            with record_function("inner"):
                takes(2)
        takes(0.5)
        for _ in range(2):
            with record_function("update"):
                takes(4)

    found = asking.phased(step, "cpu", calls=3)
    assert found.seconds == {"forward": 3, "update": 8, "": 0.5}
    assert (record_function.__enter__, record_function.__exit__) == before


def test_the_tiny_steps_have_the_operators_of_the_books() -> None:
    tiny = asking.tiny_steps("cpu")
    for step, convolutions in zip(tiny.values(), (20, 0), strict=True):
        names = [op.name for op in operators(step)]
        assert names.count("convolution") == names.count("convolution_backward") == convolutions
    singly = asking.as_alone({("mm", 10**9, 10**6): 3.0})
    assert [singly(op) for op in (LARGE, MOVED)] == [3, 0]
    found = asking.measured(HERE, "cpu", calls=2)
    assert found.keys() == {"forward", "backward", "update", ""}
    assert all(0 <= seconds < float("inf") for seconds in found.values())
