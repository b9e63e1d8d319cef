"""Compare what pages predict before they measure it with what every machine measured.

`chapters/claims/<page>.py` lists the ``PREDICTIONS`` of a page, those that come out and those that do not: where a
model fails says more than where it holds.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import inf, isfinite, log

from booktools.claims.claims import Records
from booktools.executions.records import Machine
from booktools.source.book import Book, BookError
from booktools.source.page import source

NEAR = (0.05, 0.15, 0.3)
"""How near a prediction is to what was measured, as the score counts it."""


@dataclass(frozen=True)
class Prediction:
    """A number that a page predicts: ``over`` returns predicted over measured, from the records of ``keys``.

    ``section`` is the label of the section that has it, and ``lacks`` what its model leaves out, as far as the page
    says so.
    """

    section: str
    keys: tuple[str, ...]
    over: Callable[[Records], float]
    lacks: str = ""


@dataclass(frozen=True)
class Result:
    """Predicted over measured, of one prediction of a page on one machine."""

    page: str
    prediction: Prediction
    machine: Machine
    over: float

    @property
    def off(self) -> float:
        """By which factor it is off, as its logarithm: half and twice as much are equally far."""
        return abs(log(self.over))


def fit(section: str, key: str, lacks: str = "") -> Prediction:
    """Returns the prediction of which a page records predicted over measured itself."""
    return Prediction(section, (key,), lambda r: _middle(r[key]), lacks)


def pair(section: str, predicted: str, measured: str, lacks: str = "") -> Prediction:
    """Returns the prediction of which a page records both sides."""
    return Prediction(section, (predicted, measured), lambda r: _middle(r[predicted]) / _middle(r[measured]), lacks)


def stated(section: str, predicted: float, measured: str, lacks: str = "") -> Prediction:
    """Returns the prediction of which a page states the number, and records what was measured.

    Where measured over predicted is recorded, 1 was predicted.
    """
    return Prediction(section, (measured,), lambda r: predicted / _middle(r[measured]), lacks)


def all_predictions(book: Book) -> dict[str, tuple[Prediction, ...]]:
    """Returns the predictions of each page of the book that has some; BookError names a file that cannot be used."""
    found = {}
    for page in book.pages:
        path = book.chapters / "claims" / f"{page}.py"
        try:
            found[page] = tuple(runpy.run_path(str(path)).get("PREDICTIONS", ())) if path.exists() else ()
        except Exception as error:
            raise BookError(f"{book.relative(path)}: cannot be read: {type(error).__name__}: {error}") from None
    return {page: given for page, given in found.items() if given}


def problems(book: Book) -> list[str]:
    """Returns each prediction whose section its page has not, as a message."""
    return [
        f"chapters/claims/{page}.py: a prediction of {', '.join(each.keys)} stands under {each.section!r}, which is no "
        f"label of the page: write one that stands before a heading, as ({each.section})="
        for page, given in all_predictions(book).items()
        for each in given
        if f"\n({each.section})=\n" not in source(book, page).text
    ]


def results(page: str, predictions: Iterable[Prediction], machines: Sequence[Machine]) -> Iterator[Result]:
    """Yields what came of a page's predictions, on each machine that has a record of its present cells.

    What is no positive number there is left out: a measurement that came out as nothing tells nothing.
    """
    for prediction in predictions:
        for machine in machines:
            if all(key in machine.records and not machine.stale(key) for key in prediction.keys):
                over = _over(prediction, machine)
                if 0 < over < inf:
                    yield Result(page, prediction, machine, over)


def within(found: Sequence[Result], error: float) -> float:
    """Returns the share of results whose prediction is off by no more than ``error`` of what was measured."""
    return sum(abs(each.over - 1) <= error for each in found) / len(found)


def _over(prediction: Prediction, machine: Machine) -> float:
    try:
        over = prediction.over({key: machine.records[key]["value"] for key in prediction.keys})
    except ZeroDivisionError:
        return inf
    return over if isfinite(over) else inf


def _middle(value: object) -> float:
    """Returns a measurement's median, or the number that was recorded, infinite where a page shows ∞ or a dash."""
    found = getattr(value, "median", value)
    return float(found) if isinstance(found, (int, float)) else inf
