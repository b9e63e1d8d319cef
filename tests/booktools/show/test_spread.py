"""How a page says what was measured: the spread, both modes, too few samples; and ratios over such."""

from __future__ import annotations

import re

import pytest

from booktools.executions.records import recorded_machines
from booktools.show.edition import labels_of
from booktools.show.spread import doubt, ratio_words, words
from booktools.source.book import Book
from dlperf.measurement import FEW, Measurement
from dlperf.ratio import over
from tests.conftest import ROOT

CHINESE = labels_of(Book(ROOT), Book(ROOT).languages[1]).translate

NARROW = (1.0, 1.01, 1.02, 1.03, 1.04)
SPREAD = (0.8, 0.92, 1.0, 1.08, 1.2)  # interquartile range 16 % of the median
WIDE = (0.7, 0.8, 1.0, 1.2, 1.3)  # 40 %
TWO = (1.0, 1.01, 1.02, 1.03, 1.04, 1.5, 1.51, 1.52, 1.53, 1.54)
FEWER = (1.0, 1.5, 3.0)


def measured(samples: tuple[float, ...], unit: str = "1", scale: float = 1.0) -> Measurement:
    return Measurement(tuple(scale * sample for sample in samples), unit)


@pytest.mark.parametrize(
    ("m", "english", "chinese"),
    [
        (measured(NARROW), "1.02", "1.02"),
        (measured(NARROW, "s", 1e-3), "1.02 ms", "1.02 ms"),
        (measured(SPREAD), "1.00 ± 0.08", "1.00 ± 0.08"),
        (measured(SPREAD, "s", 4.6e-5), "46 ± 4 µs", "46 ± 4 µs"),
        (measured(SPREAD, "B/s", 1.17e11), "117 ± 9 GB/s", "117 ± 9 GB/s"),
        (measured(SPREAD, "1/s", 2e3), "2.0 ± 0.2 k/s", "2.0 ± 0.2 k/s"),
        (measured(WIDE), "1.0 ± 0.2 (wide spread)", "1.0 ± 0.2（离散过大）"),
        (measured(WIDE, scale=-1), "-1.0 ± 0.2 (wide spread)", "-1.0 ± 0.2（离散过大）"),
        (measured((-2, -1, 0, 1, 2)), "0 ± 1 (wide spread)", "0 ± 1（离散过大）"),
        (measured((0.0,) * 5), "0", "0"),
        (measured(TWO), "1.02 or 1.52 (two modes)", "1.02或1.52（双峰）"),
        (measured(TWO, "s", 8e-4), "816 or 1216 µs (two modes)", "816或1216 µs（双峰）"),
        (measured((0.0,) * 7 + (4.0,) * 8), "0.00 or 4.00 (two modes)", "0.00或4.00（双峰）"),
        (measured(FEWER), "1.0–3.0 (only 3 samples)", "1.0–3.0（仅3个样本）"),
        (measured(FEWER, "s"), "1.0–3.0 s (only 3 samples)", "1.0–3.0 s（仅3个样本）"),
        (measured((1.5,) * 4), "1.50 (only 4 samples)", "1.50（仅4个样本）"),
        (measured((1.5,)), "1.50 (only 1 sample)", "1.50（仅1个样本）"),
    ],
)
def test_prose_says_it(m: Measurement, english: str, chinese: str) -> None:
    said = words(m, str)
    assert said.value + (f" ({said.mark})" if said.mark else "") == english
    said = words(m, CHINESE)
    assert said.value + (f"（{said.mark}）" if said.mark else "") == chinese
    assert re.fullmatch(r"中位数 .+ · 四分位距 .+ · \d+个样本", said.title)


@pytest.mark.parametrize(
    ("samples", "form", "shown"),
    [
        (NARROW, ".1f", "1.0"),
        (NARROW, ".3f", "1.020"),
        (SPREAD, ".2f", "1.00 ± 0.08"),
        (SPREAD, ".1f", "1.0 ± 0.1"),
        (SPREAD, ".0f", "1 ± 0.08"),  # a spread of 0 would be none
        (SPREAD, ".3g", "1 ± 0.08"),
        (TWO, ".2f", "1.02 or 1.52"),
        (TWO, ".0f", "1 or 2"),
        (tuple(10 * x for x in (*TWO[:5], 1.2, 1.201, 1.202, 1.203, 1.204)), ".0f", "10 or 12"),
        ((*TWO[:5], 1.2, 1.201, 1.202, 1.203, 1.204), ".0f", "1.0 or 1.2"),  # 1 or 1 would be one
        (FEWER, ".0f", "1–3"),
        (FEWER, ".2f", "1.00–3.00"),
    ],
)
def test_a_format_holds_for_each_number(samples: tuple[float, ...], form: str, shown: str) -> None:
    assert words(measured(samples), str, form).value == shown


@pytest.mark.parametrize(
    ("samples", "shown"),
    [
        (NARROW, "89.2 %"),
        (SPREAD, "88 ± 7 %"),
        (WIDE, "88 ± 18 %"),
        (TWO, "89 or 133 %"),
        (FEWER, "88–262 %"),
    ],
)
def test_a_percentage_has_its_spread_too(samples: tuple[float, ...], shown: str) -> None:
    m = measured(samples, scale=0.875)
    assert words(m, str, percent=True).value == shown
    assert words(m, CHINESE, percent=True).value == shown.replace(" %", "%").replace(" or ", "或")


@pytest.mark.parametrize(
    ("other", "above", "below", "mark"),
    [
        (NARROW, "1.00", "1.00", ""),
        (SPREAD, "1.02", "0.98", ""),
        (WIDE, "0.81–1.29", "0.78–1.24", "wide spread"),
        (TWO, "0.64–1.01", "0.99–1.57", "two modes"),
        (FEWER, "0.34–1.37", "0.73–2.97", "only 3 samples"),
    ],
)
def test_a_ratio_over_what_is_no_result_is_a_range(other: tuple[float, ...], above: str, below: str, mark: str) -> None:
    narrow, other_side = measured(NARROW), measured(other)
    for sides, shown in (((narrow, other_side), above), ((other_side, narrow), below)):
        said = ratio_words(over(*sides), str, ".2f")
        assert (said.value, said.mark) == (shown, mark)
        reasoned = ratio_words(over(*sides, because="the slow mode is the collector's"), str, ".2f")
        assert reasoned.value == f"{float(over(*sides)):.2f}"
        assert not reasoned.mark
        true = [a / b for a in sides[0].quartiles for b in sides[1].quartiles]
        low, high = map(float, (said.value.split("–") * 2)[:2])
        assert not mark or (low <= min(true) + 0.01 and max(true) - 0.01 <= high)


def test_a_range_has_one_sign_of_percent_and_none_across_zero() -> None:
    ratio = over(measured(WIDE), measured(NARROW))
    assert ratio_words(ratio, str, percent=True).value == "77.7–124 %"
    assert ratio_words(ratio, CHINESE, percent=True).value == "77.7–124%"
    assert ratio_words(over(measured((-2, -1, 1, 2, 3)), measured(NARROW)), str).value == "–"


def test_every_recorded_measurement_has_five_samples() -> None:
    for machine in recorded_machines(Book(ROOT)):
        values = {key: entry["value"] for key, entry in machine.records.items()}
        few = [key for key, m in values.items() if isinstance(m, Measurement) and len(m.samples) < FEW]
        assert few == [], f"{machine.name}: fewer than {FEW} samples; a cell asks for more"


def test_every_doubt_has_its_chinese() -> None:
    for samples in (WIDE, TWO, FEWER, (1.0,)):
        mark = doubt(measured(samples))
        assert CHINESE(mark) != mark
