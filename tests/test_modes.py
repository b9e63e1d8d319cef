"""One mode or two: the rule on samples whose modes are known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dlperf.measurement import Measurement
from dlperf.modes import modes

Draw = Callable[[np.random.Generator, int], np.ndarray]
ONE_MODE: dict[str, Draw] = {
    "normal": lambda random, n: random.normal(10, 2, n),
    "uniform": lambda random, n: random.uniform(1, 3, n),
    "exponential": lambda random, n: random.exponential(1, n),
    "log-normal": lambda random, n: random.lognormal(0, 0.5, n),
    "wide log-normal": lambda random, n: random.lognormal(0, 1, n),
    "a time and what delays it": lambda random, n: 1 + random.gamma(2, 0.3, n),
    "a time, and an interrupt in ten": lambda random, n: (
        1 + random.gamma(2, 0.05, n) + (random.random(n) < 0.1) * random.exponential(1, n)
    ),
}


def mixture(random: np.random.Generator, n: int, share: float, apart: float) -> np.ndarray:
    """Returns samples of two normal modes, so many standard deviations apart; ``share`` of them are of the upper."""
    upper = round(share * n)
    return random.permutation(
        np.concatenate([random.normal(100, 3, n - upper), random.normal(100 + 3 * apart, 3, upper)])
    )


def part_of_two(draws: list[np.ndarray]) -> float:
    """Returns in what part of the draws there are two modes."""
    return sum(len(modes(draw)) == 2 for draw in draws) / len(draws)


@pytest.mark.parametrize("n", [6, 9, 15, 31, 200])
@pytest.mark.parametrize("name", ONE_MODE)
def test_one_mode_is_seldom_taken_for_two(name: str, n: int) -> None:
    """About one case in a hundred; 600 draws with one in fifty would show at most 20 with a chance of 98 %."""
    random = np.random.default_rng(1)
    assert part_of_two([ONE_MODE[name](random, n) for _ in range(600)]) <= 0.02


@pytest.mark.parametrize(("n", "apart"), [(9, 14), (20, 8), (60, 6), (200, 5)])
@pytest.mark.parametrize("share", [0.33, 0.5, 0.67])
def test_two_modes_are_found_the_sooner_the_further_apart(n: int, apart: float, share: float) -> None:
    random = np.random.default_rng(2)
    assert part_of_two([mixture(random, n, share, apart) for _ in range(300)]) >= 0.95


def test_few_samples_cannot_tell_close_modes_from_one() -> None:
    """What the rule does not promise: four standard deviations and fifteen samples look like one broad mode."""
    random = np.random.default_rng(3)
    assert part_of_two([mixture(random, 15, 0.5, 4) for _ in range(300)]) < 0.3


def test_the_split_leaves_the_least_variance() -> None:
    """Every other split with as many samples on each side leaves more."""
    random = np.random.default_rng(4)
    for _ in range(20):
        samples = mixture(random, 24, 0.4, 9)
        low, high = modes(samples)
        ordered = np.log(np.sort(samples))
        left = [ordered[:k].var() * k + ordered[k:].var() * (24 - k) for k in range(6, 19)]
        assert len(low) == 6 + int(np.argmin(left))
        assert low + high == tuple(sorted(samples))


def test_what_is_far_above_both_modes_hides_neither() -> None:
    samples = [1.17, 1.15, 1.2, 1.16, 1.18, 1.75, 1.72, 1.78, 1.74, 1.76, 60.0]
    low, high = modes(samples)
    assert (max(low), min(high), max(high)) == (1.2, 1.72, 60.0)


@pytest.mark.parametrize(
    ("samples", "groups"),
    [
        ([1.0] * 5 + [2.0] * 5, 2),
        ([0.0] * 7 + [4.0] * 8, 2),
        ([-2.0, -2.1, -1.9, -2.0, 3.0, 3.1, 2.9, 3.0, -2.0, 3.0], 2),
        ([1.0, 1.001, 1.002] * 3 + [1.05, 1.051, 1.052] * 3, 1),  # less than a tenth apart
        ([1.0] * 10 + [2.0] * 2, 1),  # less than a quarter
        ([1.0, 1.0, 2.0, 2.0], 1),  # fewer than three
        ([1.0], 1),
        ([3.0] * 9, 1),
    ],
)
def test_how_many_modes_there_are(samples: list[float], groups: int) -> None:
    assert len(modes(samples)) == groups


def test_modes_of_a_measurement_are_measurements() -> None:
    m = Measurement((2.0, 1.0) * 5, "s", "words", pairing_id="t")
    low, high = m.modes()
    assert (low.median, high.median, low.unit, high.description) == (1.0, 2.0, "s", "words")
    assert not low.pairing_id  # sorted, they belong to no turn
    assert Measurement((1.0, 1.1, 1.05)).modes()[0].median == 1.05
