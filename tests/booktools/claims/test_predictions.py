"""Predictions over what was measured: which count, and how near they came."""

from __future__ import annotations

import re
from typing import Any

import pytest

from booktools.claims.predictions import Prediction, all_predictions, fit, pair, problems, results, stated, within
from booktools.executions.executions import Execution
from booktools.executions.records import Machine, recorded_machines
from booktools.source.book import Book
from dlperf.measurement import Measurement
from tests.booktools.claims.test_claims import executed
from tests.conftest import ROOT, edit


def machine(records: dict[str, Any], stale: tuple[str, ...] = ()) -> Machine:
    return Machine("m", {"p": Execution.of(executed(records, {"cpu": "x"}), stale)})


def over(prediction: Prediction, *machines: Machine) -> list[float]:
    return [each.over for each in results("p", [prediction], machines)]


def test_a_fit_is_predicted_over_measured_already() -> None:
    assert over(fit("p-a", "p.fit"), machine({"p.fit": Measurement((0.5, 0.8, 0.9))})) == [0.8]


def test_a_pair_is_divided() -> None:
    assert over(pair("p-a", "p.told", "p.took"), machine({"p.told": 3.0, "p.took": Measurement((2.0,))})) == [1.5]


def test_each_machine_counts_that_measured_the_present_cells() -> None:
    able, stale, lacking = machine({"p.fit": 2.0}), machine({"p.fit": 3.0}, ("cells",)), machine({"p.other": 1})
    assert over(fit("p-a", "p.fit"), able, stale, lacking) == [2.0]


@pytest.mark.parametrize("value", [0.0, -1.0, "∞", "–"])
def test_what_is_no_positive_number_is_left_out(value: Any) -> None:
    assert over(fit("p-a", "p.fit"), machine({"p.fit": value})) == []


def test_a_measurement_of_nothing_is_left_out() -> None:
    assert over(pair("p-a", "p.told", "p.took"), machine({"p.told": 1.0, "p.took": 0.0})) == []


def test_half_and_twice_as_much_are_equally_far() -> None:
    low, high = results("p", [fit("p-a", "p.low"), fit("p-a", "p.high")], [machine({"p.low": 0.5, "p.high": 2.0})])
    assert low.off == pytest.approx(high.off)


def test_the_share_within_an_error_counts_both_sides() -> None:
    keys = {"p.a": 0.9, "p.b": 1.1, "p.c": 1.2, "p.d": 0.5}
    found = list(results("p", [fit("p-a", key) for key in keys], [machine(keys)]))
    assert [within(found, error) for error in (0.05, 0.15, 0.3)] == [0, 0.5, 0.75]


def test_every_prediction_of_the_book_has_a_section_and_a_record() -> None:
    book = Book(ROOT)
    assert problems(book) == []
    assert len(all_predictions(book)) >= 8


def test_a_section_that_is_none_is_named(tiny: Book) -> None:
    edit(tiny.chapters / "claims" / "tiny.py", '"tiny-measure"', '"tiny-nowhere"')
    (problem,) = problems(tiny)
    assert "a prediction of tiny.size stands under 'tiny-nowhere', which is no label of the page" in problem


def test_a_number_that_a_page_states_is_divided_by_what_was_measured() -> None:
    assert over(stated("p-a", 1.5, "p.took"), machine({"p.took": Measurement((1.2,))})) == [1.25]


NOT_SHOWN = {
    "async.empty-serial-fit": "what the page's prediction is told from",
    "async.medium-serial-fit": "what the page's prediction is told from",
    "async.soon-serial-fit": "what the page's prediction is told from",
    "async.slow-back-serial-fit": "what the page's prediction is told from",
    "async.slow-front-serial-fit": "what the page's prediction is told from",
    "async.free-more-predicted": "batches, whose bytes are those of async.free-fit",
    "compilers.mlp-free-fit": "what the page's prediction is told from",
    "concise.here-fit": "a median of fits that are shown one by one",
    "concise.here-free-fit": "the same of a model that sends nothing",
    "concise.here-hosts-fit": "a median of some of them: the library's steps on hosts",
    "concise.here-free-hosts-fit": "the same of a model that sends nothing",
    "concise.here-rows-fit": "a median of the others: the page's own steps",
    "concise.here-free-rows-fit": "the same of a model that sends nothing",
    "hardware.told-both": "over what was measured, it is hardware.remedy-fit",
    "hardware.type-fit": "measured over predicted: hardware.told-type and hardware.gain-type are divided",
    "hardware.ways-told": "a count of places",
    "servers.told-off": "an error without a sign, as *Machines and claims* says",
}
"""Why a prediction that is recorded is not in the score."""


def test_no_recorded_prediction_is_left_out_of_the_score() -> None:
    book = Book(ROOT)
    shown = {key for given in all_predictions(book).values() for each in given for key in each.keys}
    recorded = {key for each in recorded_machines(book) for key in each.records if not each.stale(key)}
    predicted = {key for key in recorded if re.search(r"-(fit|told|predicted|expected)$|[.-]told-", key)}
    as_ratios = {key for key in predicted if {f"{key.rpartition('-')[0]}-{r}" for r in ("fit", "ratio")} & shown}
    assert sorted(predicted - shown - as_ratios - NOT_SHOWN.keys()) == []
