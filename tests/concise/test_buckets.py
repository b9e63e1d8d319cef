"""Which buckets are filled, when they are through, and how large is best, against cases worked out by hand."""

import pytest

from dlperf.concise.buckets import best_cap, compared, fill, predict
from dlperf.concise.hooks import Seen
from dlperf.hardware.alpha_beta import Line
from dlperf.parallel.gradients import Step

ALONE = Step(begin=10.0, ready=[11.0, 12.0, 13.0], weighs=[4, 4, 4])


def test_a_bucket_is_full_once_it_holds_the_cap_or_more() -> None:
    assert fill([3, 3, 3, 3], cap=4) == [6, 6]
    assert fill([3, 3, 3, 3], cap=3) == [3, 3, 3, 3]
    assert fill([3, 9, 1], cap=4) == [12, 1]
    assert fill([3, 3, 3], cap=100) == [9]
    assert fill([], cap=4) == []


def test_the_first_bucket_may_be_smaller() -> None:
    assert fill([3, 3, 3, 3], cap=6, first=1) == [3, 6, 3]


def test_a_message_waits_for_its_gradients_and_for_the_link() -> None:
    link = Line(alpha=0.5, beta=0.25)  # 1.5 for four bytes
    assert predict(ALONE, [4, 4, 4], link) == 1 + 3 * 1.5
    assert predict(ALONE, [12], link) == 3 + 0.5 + 3
    assert predict(ALONE, [8, 4], link) == 2 + 2.5 + 1.5
    assert predict(ALONE, [4, 4, 4], Line(0.0, 1e-6)) == pytest.approx(3, rel=1e-4)


def test_at_the_best_cap_latencies_take_as_long_as_the_last_bucket() -> None:
    link = Line(alpha=3e-4, beta=1e-8)
    best = best_cap(45e6, link)
    cost = lambda cap: link.alpha * 45e6 / cap + link.beta * cap
    assert cost(best) < min(cost(0.9 * best), cost(1.1 * best))
    assert link.alpha * 45e6 / best == pytest.approx(link.beta * best)


def test_steps_are_compared_turn_by_turn_with_their_own_alone() -> None:
    link = Line(alpha=0.5, beta=0.25)
    sent = Seen(begin=0.0, ready=[1.5, 3.0, 6.0], weighs=[4, 4, 4], sizes=[8, 4], end=7.0)
    found = compared({"alone": [[ALONE, ALONE]] * 5, "DDP": [[sent, ALONE]] * 5}, "alone", link)
    assert set(found) == {"DDP"}
    assert {name: m.median for name, m in found["DDP"].items()} == {
        "step": 7.0,
        "told": 6.0,
        "fit": pytest.approx(6 / 7),
        "bound": 7 / 3.5,
        "stretch": 2.0,
        "last stretch": 1.0,
    }
    assert found["DDP"]["step"].unit == "s"
