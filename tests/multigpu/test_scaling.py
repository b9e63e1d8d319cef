"""Strong and weak scaling from times that are made up, and the model at its ends."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from dlperf.alpha_beta import Line
from dlperf.measurement import Measurement
from dlperf.multigpu import drawings, scaling
from dlperf.multigpu.declared import Declared, declared_seconds
from dlperf.multigpu.scaling import bend, classic, compare_declared, declared, predict, speedup
from tests.multigpu.made_up import crew, trace

STEP = Declared(1.0, 2.0, (100, 100))
FAST, SLOW = Line(0.0, 1e-9), Line(0.0, 1.0)


def test_one_device_sends_nothing() -> None:
    assert predict(STEP, 1, SLOW) == 3.0


def test_a_fast_link_leaves_the_computing() -> None:
    assert predict(STEP, 4, FAST) == pytest.approx(3.0)
    assert speedup(STEP, 4, FAST, weak=True) == pytest.approx(4)
    assert speedup(STEP, 4, FAST, weak=False) == pytest.approx(4)


def test_a_slow_link_leaves_the_sending() -> None:
    # The first message leaves after 2 s; each takes 2 turns of 50 bytes.
    assert predict(STEP, 2, SLOW) == pytest.approx(2.0 + 2 * 100)


def test_the_curve_bends_where_computing_is_as_long_as_sending() -> None:
    link = Line(0.0, 2.0 / (2 * 200) / 3)  # k - 1 = 3
    assert bend(STEP, link) == pytest.approx(4)
    for k in (2, 4):
        assert STEP.share(k).backward >= 2 * (k - 1) / k * 200 * link.beta - 1e-12
    assert STEP.share(5).backward < 2 * 4 / 5 * 200 * link.beta


def test_sending_when_all_is_computed_comes_on_top() -> None:
    assert scaling.added(STEP, 2, SLOW) == pytest.approx(1.5 + 2 * 100)


def test_a_summary_has_the_ends_of_the_ratios_and_what_sending_early_saves() -> None:
    found = {"strong-2": seconds(1.5), "strong-2-ratio": seconds(0.9), "weak-8-ratio": seconds(1.2)}
    assert scaling.summary(found, STEP, SLOW) == pytest.approx(
        {"least": 0.9, "most": 1.2, "added": predict(STEP.share(2), 2, SLOW) / 201.5}
    )
    assert scaling.times(STEP, SLOW, k=4) == pytest.approx({"backward": 2.0, "sending": 2 * 6 * 100 / 4})
    lines = scaling.predicted_lines(STEP, FAST, (1, 2))
    assert {name: [round(each, 3) for each in of] for name, of in lines.items()} == {"strong": [1, 2], "weak": [1, 2]}


@pytest.mark.parametrize(
    ("gpus", "here", "right"), [(0, 1, (1,)), (0, 3, (2,)), (1, 16, (2, 4, 8)), (2, 16, (2,)), (5, 1, (2, 4))]
)
def test_as_many_devices_as_a_machine_has(
    monkeypatch: pytest.MonkeyPatch, gpus: int, here: int, right: tuple[int, ...]
) -> None:
    found = [torch.device("cuda", i) for i in range(gpus)] or [torch.device("cpu")]
    monkeypatch.setattr(scaling, "try_all_gpus", lambda: found)
    monkeypatch.setattr(scaling, "cores", lambda: here)
    assert scaling.device_counts() == right


def seconds(*samples: float) -> Measurement:
    return Measurement(samples, "s")


def test_a_traced_step_is_declared() -> None:
    made = declared(trace(), buckets=4)
    assert made == Declared(1.0, 2.0, (10, 10, 10, 10))


def test_speedups_count_examples() -> None:
    def answer(rank: int, fn: Any, step: Declared, k: int) -> float:
        assert fn is declared_seconds
        return (step.forward + step.backward) * (1 + 0.01 * rank)  # the slowest counts

    found = compare_declared(crew(answer), STEP, FAST, (2, 8), (8,), repeats=2)
    assert found["strong-2"].median == pytest.approx(2 / 1.01)
    assert found["weak-8"].median == pytest.approx(8 / 1.07)
    assert found["strong-8-ratio"].median == pytest.approx(1 / 1.07)
    lines = {name: [1.0] * 8 for name in ("strong", "weak")}
    axes = drawings.scaling(lines, found, range(1, 9), 4).axes[0]
    shown = [sorted(c.lines[0].get_xdata()) for c in axes.containers]
    assert shown == [[8], [2, 8]]


def test_efficiency_of_a_machine() -> None:
    seconds = {8: 1.0, 16: 1.25}  # of a step, by batch

    def answer(rank: int, fn: Any, k: int, batch: int, exchanging: bool = True) -> float:
        if not exchanging:
            return 1.1
        return seconds[batch] if k == 1 or batch == 16 else 0.625

    made = scaling.on_one_machine(crew(answer, kind="GPU"), 2, 8, repeats=2)
    assert made["strong"].median == pytest.approx(0.8)
    assert made["weak"].median == pytest.approx(0.8)
    table = drawings.efficiencies({2: made})
    assert table.rows == [("2", "0.80", "0.80", "0.91", "–")]
    assert made["apart"].median == pytest.approx(1 / 1.1)
    assert "threads" not in made


def test_the_classic_result_leaves_little_room() -> None:
    found = classic()
    assert found["least"] == pytest.approx(2.95 / 2.75)  # 2.85 s with two
    assert found["most"] == pytest.approx(3.05 / 2.45)  # 2.75 s with two
    assert found["bytes"] == 4 * 129_068
    assert found["message"] == pytest.approx(6.3 / 235 / 16)
