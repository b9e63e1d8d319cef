"""Predictions of the road against times that a hand can add up, and its figures from made-up steps."""

from __future__ import annotations

import pytest

from dlperf.alpha_beta import Line
from dlperf.multigpu import drawings, road
from dlperf.multigpu.road import Exchange
from dlperf.turns import InterleavedSamples
from tests.multigpu.made_up import trace

LINK = Line(0.5, 0.01)
"""Half a second, and a hundredth for each byte."""


def test_what_is_sent_at_the_end_comes_on_top() -> None:
    apart = trace()  # 3.5 s, 40 bytes
    assert road.predict(Exchange.FIRST, 2, apart, [40], LINK) == pytest.approx(3.5 + 2 * (0.5 + 0.4))
    assert road.predict(Exchange.RING, 2, apart, [40], LINK) == pytest.approx(3.5 + 2 * (0.5 + 0.2))


def test_what_is_sent_on_the_way_takes_the_longer_of_both() -> None:
    apart = trace(ready=(2.0, 3.0), sizes=(30, 10))
    each = road.predict(Exchange.EACH, 2, apart, [30, 10], LINK)
    first = 2 * (0.5 + 0.15)  # 2.0 to 3.3; the second waits for it
    assert each == pytest.approx(2.0 + first + 2 * (0.5 + 0.05) + 0.5)
    at_once = road.predict(Exchange.EACH, 2, apart, [30, 10], Line(1e-9, 1e-9))
    assert at_once == pytest.approx(3.5)  # hidden but for nothing


def test_a_bucket_leaves_with_its_last_gradient() -> None:
    apart = trace(ready=(2.0, 3.0), sizes=(30, 10))
    whole = road.predict(Exchange.BUCKETS, 2, apart, [40], LINK)
    assert whole == pytest.approx(3.0 + 2 * (0.5 + 0.2) + 0.5)


def turns() -> dict[Exchange, InterleavedSamples[list[object]]]:
    ring = [trace(begin=b, messages=((3.0, 4.0, 40),), update=4.0, end=4.5) for b in (0.0, 0.25)]
    sides = {Exchange.ONE: [trace(ready=(4.0, 6.0), update=6.0, end=6.5)], Exchange.APART: [trace(), trace()]}
    return {side: InterleavedSamples([each, each]) for side, each in {**sides, Exchange.RING: ring}.items()}  # type: ignore[list-item]


def test_figures_of_made_up_steps() -> None:
    found = road.compare(turns(), 2, 16, LINK, {}).measured  # type: ignore[arg-type]
    figures = {key: m.median for key, m in found.items()}
    assert figures["ring-step"] == 4.75  # from the first begin to the last end
    assert figures["one-rate"] == pytest.approx(16 / 6.5)
    assert figures["ring-speedup"] == pytest.approx(6.5 / 4.75)
    assert figures["ring-waiting"] == 1.0
    assert figures["ring-stretch"] == 1.0
    assert figures["ring-predicted"] == pytest.approx(3.5 + 1.4)
    assert figures["ring-ratio"] == pytest.approx(4.9 / 4.75)
    assert found["ring-step"].unit == "s"
    assert found["ring-ratio"].unit == "1"


def test_the_picture_and_the_table_of_made_up_steps() -> None:
    made = road.compare(turns(), 2, 16, LINK, {})  # type: ignore[arg-type]
    axes = drawings.timeline(made.traces, Exchange.RING).axes[0]
    names = [text.get_text() for text in axes.get_yticklabels()]
    assert names == ["device 0", "its link", "device 1", "its link"]
    widths = [path.get_extents().width for bars in axes.collections for path in bars.get_paths()]
    assert widths[0] == pytest.approx(1000)  # forward, in ms
    assert [line.get_xdata()[0] for line in axes.lines] == [6500]


def test_buckets_of_the_road_hold_more_than_one_gradient_of_most() -> None:
    assert road.BUCKET == 4 * 2**20
