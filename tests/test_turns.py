"""Taking turns: the order of calls, what is dropped, and which measurements may be paired."""

from __future__ import annotations

import time
from contextlib import nullcontext
from itertools import count
from types import SimpleNamespace

import pytest

from dlperf import turns as turns_module
from dlperf.measurement import FewSamplesWarning, Measurement, PairingError
from dlperf.turns import InterleavedSamples, columns, interleave, new_pairing_id, seconds


def test_sides_take_turns_and_the_first_turn_is_dropped() -> None:
    called: list[str] = []
    numbers = count()
    sides = {name: (lambda name=name: (called.append(name), next(numbers))[1]) for name in "ab"}
    found = interleave(sides, repeats=2)
    assert called == ["a", "b"] * 3
    assert found == {"a": [2, 4], "b": [3, 5]}


def test_nothing_is_dropped_without_a_warm_up() -> None:
    assert interleave({"a": lambda: 1.0}, repeats=3, warm_up=0) == {"a": [1.0] * 3}


def test_the_turn_that_is_enough_is_finished_first() -> None:
    told: list[tuple[int, float]] = []
    sides = {"slow": lambda: time.sleep(0.01), "quick": lambda: None}
    found = interleave(sides, 1000, enough=lambda *now: told.append(now) or len(told) == 3)
    assert [len(side) for side in found.values()] == [3, 3]
    assert [turns for turns, _ in told] == [1, 2, 3]
    assert 0.01 <= told[0][1] < told[2][1]


@pytest.mark.parametrize(("left", "turns"), [(1e9, 9), (6.5, 5), (0.0, 1)])
def test_a_cell_that_has_little_time_left_gets_fewer_turns_and_is_told(
    left: float, turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each turn takes a second: after the fifth, another would take more than half of the 1.5 that are left."""
    now = [0.0]
    monkeypatch.setattr(turns_module, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    monkeypatch.setattr(turns_module, "seconds_left", lambda: max(0.0, left - now[0]))

    def side() -> None:
        now[0] += 0.5

    told = nullcontext() if turns == 9 else pytest.warns(FewSamplesWarning, match=f"a, b: {turns} of 9 samples each")
    with told:
        found = interleave({"a": side, "b": side}, 9, warm_up=0)
    assert [len(each) for each in found.values()] == [turns, turns]


def test_no_turns_are_refused() -> None:
    with pytest.raises(ValueError, match="repeats=0"):
        interleave({"a": lambda: 1.0}, 0)


def test_measurements_of_one_interleaving_are_paired_and_others_are_not() -> None:
    first, second = ({n: t.measurement(float, "s") for n, t in interleave(TWICE, 3).items()} for _ in range(2))
    assert (first["b"] / first["a"]).samples == (2.0,) * 3
    with pytest.raises(PairingError, match="not taken in turn"):
        first["b"] / second["a"]


TWICE = {"a": lambda: 1.0, "b": lambda: 2.0}


def test_answers_that_tell_more_give_paired_measurements_of_each_figure() -> None:
    shared = new_pairing_id()
    trials = InterleavedSamples([(1.0, 10.0), (2.0, 40.0)], shared)
    early, late = (trials.measurement(lambda pair, i=i: pair[i], "s") for i in (0, 1))  # type: ignore[misc]
    assert (late / early).samples == (10.0, 20.0)


def test_per_call_divides_by_the_calls_and_says_so() -> None:
    m = InterleavedSamples([1.0, 2.0]).per_call("empty", 100, {"cpu": "x"})
    assert m == Measurement((0.01, 0.02), "s", "empty", 100, {"cpu": "x"})


def test_columns_have_the_units_that_were_given_and_are_paired() -> None:
    found = columns([{"t": 2.0, "n": 1.0}, {"t": 4.0, "n": 3.0}], {"t": "s", "n": "1"}, {"cpu": "x"})
    assert [(m.unit, m.samples, m.description) for m in found.values()] == [
        ("s", (2.0, 4.0), "t"),
        ("1", (1.0, 3.0), "n"),
    ]
    assert found["t"].pairing_id == found["n"].pairing_id != ""


@pytest.mark.parametrize(
    ("rows", "units"), [([{"t": 1.0, "odd": 2.0}], {"t": "s"}), ([{"t": 1.0}], {"t": "s", "odd": "1"})]
)
def test_a_column_without_a_unit_is_named(rows: list[dict[str, float]], units: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="odd"):
        columns(rows, units)


def test_no_rows_are_refused() -> None:
    with pytest.raises(ValueError, match="'t'"):
        columns([], {"t": "s"})


def test_seconds_are_those_of_the_call() -> None:
    assert seconds(lambda: time.sleep(0.01))() >= 0.01
