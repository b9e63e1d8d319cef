"""A bucket's burst is left out of the fit, and the bucket is that of the book's network."""

from __future__ import annotations

from typing import Any

import pytest

from dlperf import network
from dlperf.alpha_beta import Line
from dlperf.hardware import token_bucket
from dlperf.network import switch

SIZES = [2**k for k in range(4, 25)]
LINE = Line(5e-5, 1e-8)


def bent(size: float) -> float:
    """The time of a message of which a full bucket passes at once."""
    return max(LINE.alpha, LINE(size) - token_bucket.DEPTH * LINE.beta)


def test_what_a_bucket_bends_is_left_out_of_the_fit() -> None:
    times = [LINE(n) if token_bucket.left_alone(n) else bent(n) for n in SIZES]
    line, missed = token_bucket.check(SIZES, times)
    assert (line.alpha, line.beta) == pytest.approx((LINE.alpha, LINE.beta))
    others = [(n, t) for n, t in zip(SIZES, times, strict=True) if not token_bucket.left_alone(n)]
    assert missed == pytest.approx(sum(abs(LINE(n) / t - 1) for n, t in others) / len(others))


def test_a_burst_moves_the_bandwidth_by_a_hundredth_or_so() -> None:
    line, _ = token_bucket.check(SIZES, [bent(n) for n in SIZES])
    assert 1 <= line.bandwidth * LINE.beta <= 1 + 1.5 * token_bucket.DEPTH / 2**23


def test_a_fit_and_its_check_both_need_messages() -> None:
    with pytest.raises(ValueError, match="below and above 93750 B"):
        token_bucket.check([16, 64], [1e-5, 1e-5])


def test_headers_take_their_part() -> None:
    assert token_bucket.most(125e6) == pytest.approx(119.55e6, rel=1e-4)


def test_the_bucket_is_that_of_the_network() -> None:
    asked: dict[str, Any] = {}

    class Ip:
        def link(self, *_: object, **__: object) -> None:
            pass

        def tc(self, *_: object, **given: Any) -> None:
            asked.update(given)

    packet = switch.Plan([network.GIGABIT] * 2, [0, 0], {}, "", []).packet
    switch._limit(Ip(), 1, network.GIGABIT, packet)
    assert asked["burst"] == token_bucket.DEPTH
