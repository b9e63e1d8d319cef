"""ZeRO's formulas against the numbers that its paper publishes."""

from __future__ import annotations

import pytest

from dlperf.concise import zero


@pytest.mark.parametrize(("stage", "gigabytes"), [(0, 120), (1, 31.4), (2, 16.6), (3, 1.88)])
def test_what_a_device_holds_is_what_the_paper_says_of_7500_million_parameters_on_64(stage, gigabytes):
    assert zero.held(zero.MIXED, 7.5e9, 64, stage) / 1e9 == pytest.approx(gigabytes, rel=0.01)


def test_stage_3_sends_half_as_much_again_and_one_process_nothing():
    for stage in (0, 1, 2):
        assert zero.sent(1000, 4, stage) == 2 * 1000 * 3 / 4
    assert zero.sent(1000, 4, 3) == 3 * 1000 * 3 / 4
    assert zero.sent(1000, 1, 3) == 0
    assert zero.sent_by_gloo(1000, 2, 2) / zero.sent(1000, 2, 0) == 2


def test_tokens_hide_a_gather_when_both_take_as_long():
    flops, rate, k, parameters = 1e12, 1e9, 4, 5e6
    tokens = zero.tokens_to_hide(flops, rate, k, 4)
    computing = 2 * parameters * tokens / flops
    gathering = 4 * parameters * (k - 1) / k / rate
    assert computing == pytest.approx(gathering)


def test_a_stage_that_is_none_is_refused():
    with pytest.raises(ValueError, match="got 4"):
        zero.held(zero.FLOAT32, 1, 2, 4)
    with pytest.raises(ValueError, match="at least one process, got 0"):
        zero.sent(1, 0, 1)
