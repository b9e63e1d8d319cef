"""Define claims, outcomes and bounds as predicates over records, and judge them for every machine.

`chapters/claims/<page>.py` holds the ``CLAIMS`` of each page, whose sentences stand in the
``{claim}`` directive, in each language; and its ``OUTCOMES``, the other predicates that its text
follows (`outcomes`).
"""

from __future__ import annotations

import runpy
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from booktools.executions.records import Machine, page_of
from booktools.source.book import Book, BookError
from dlperf.measurement import Measurement

HELD, FAILED, STALE, NOT_RUN = "held", "failed", "stale", "not run"
Records = Mapping[str, Any]
"""Records by key: each a `Measurement`, or the number that was recorded."""


@dataclass(frozen=True)
class Outcome:
    """What may be so on one machine and not on another, so that text of a page follows it.

    ``holds`` is given the records of ``keys``. ``needs`` is the hardware without which it says nothing.
    """

    id: str
    keys: tuple[str, ...]
    holds: Callable[[Records], bool]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Bound(Outcome):
    """A bound that the page states: what lies beyond it has to be spoken of, whether any machine has been there or not.

    ``holds`` is true within the bound.
    """


@dataclass(frozen=True)
class Rival:
    """The other thing that could be true in the place of a claim.

    ``says`` names it: "the times add up". ``records`` is given a machine's records and returns, by key, the medians
    that it would have if that were so. Under them the claim must fail.
    """

    says: str
    records: Callable[[Records], Mapping[str, float]]


@dataclass(frozen=True)
class Claim(Outcome):
    """A sentence that measurements can prove wrong, with the ``rival`` that they would then prove right.

    ``basis`` says where its limit comes from (`limits`). On a machine in ``fails_on`` it is known to be false,
    or not to run, and the page says why: under the label that is given there. On one in ``scatters_on`` its
    measurements are known to spread so widely that they do not tell it from its rival.
    """

    rival: Rival | None = None
    basis: str = ""
    fails_on: Mapping[str, str] = field(default_factory=dict)
    scatters_on: Collection[str] = ()


@dataclass(frozen=True)
class Verdict:
    """How a claim stands on one machine: ``held``, ``failed``, ``stale`` or ``not run``, and why not.

    It is ``close`` where half an interquartile range of one of its measurements would turn it.
    """

    machine: Machine
    outcome: str
    lacking: tuple[str, ...] = ()
    close: bool = False


def all_outcomes(book: Book) -> dict[str, Outcome]:
    """Returns every claim, and whatever else the text follows, by id; BookError names a file that cannot be used."""
    found: dict[str, Outcome] = {}
    for path in sorted((book.chapters / "claims").glob("*.py")):
        try:
            given = runpy.run_path(str(path))
            outcomes = (*given["CLAIMS"], *given.get("OUTCOMES", ()))
        except Exception as error:
            raise BookError(f"{book.relative(path)}: cannot be read: {type(error).__name__}: {error}") from None
        for outcome in outcomes:
            if outcome.id in found or outcome.id.partition(".")[0] != path.stem:
                raise BookError(f"{book.relative(path)}: {outcome.id!r} is given twice or belongs to another page")
            found[outcome.id] = outcome
    return found


def all_claims(book: Book) -> dict[str, Claim]:
    """Returns every claim of the book by its id; BookError names a file that cannot be used."""
    return {name: each for name, each in all_outcomes(book).items() if isinstance(each, Claim)}


def judge(claim: Outcome, machine: Machine) -> Verdict:
    """Returns how a claim stands on a machine. A stale record proves nothing, so it is never `held`.

    BookError where its predicate raises: which line, which claim, which key and which machine.
    """
    changed = _changed(claim, machine)
    if changed and not _lacking(claim, machine):
        return Verdict(machine, STALE, changed)
    return look(claim, machine)


def look(claim: Outcome, machine: Machine) -> Verdict:
    """Returns what a machine's records say of a claim, whether code has changed since or not: what its page shows.

    BookError as in `judge`; but a stale record that the predicate cannot read is as good as none.
    """
    if lacking := _lacking(claim, machine):
        return Verdict(machine, NOT_RUN, lacking)
    values = _Reading((key, machine.records[key]["value"]) for key in claim.keys)
    try:
        holds = claim.holds(values)
        close = any(claim.holds(moved) != holds for _, moved in variants(values))
        return Verdict(machine, HELD if holds else FAILED, close=close)
    except Exception as error:
        if changed := _changed(claim, machine):
            return Verdict(machine, NOT_RUN, changed)
        raise BookError(_why(claim, machine, values, error)) from None


def variants(records: Records) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields the records with each measurement half an interquartile range higher and lower, and how in words."""
    for key, value in records.items():
        if isinstance(value, Measurement):
            for words, by in (("higher", value.iqr / 2), ("lower", -value.iqr / 2)):
                moved = replace(value, samples=tuple(x + by for x in value.samples))
                yield f"{key} ({value.summary()}) is half its interquartile range {words}", {**records, key: moved}


def _lacking(claim: Outcome, machine: Machine) -> tuple[str, ...]:
    """Returns what a machine lacks for a claim: hardware, else the page if it has no record of that, else records."""
    hardware = tuple(need for need in claim.needs if not machine.has(need))
    records = tuple(key for key in claim.keys if key not in machine.records)
    page = page_of(claim.id)
    if records and all(page_of(key) != page for key in machine.records):
        records = (page,)
    return hardware or records


def _changed(claim: Outcome, machine: Machine) -> tuple[str, ...]:
    return tuple(sorted({name for key in claim.keys for name in machine.stale(key)}))


class _Reading(dict[str, Any]):
    """The records that a predicate is given; ``last`` is the key that it read last."""

    last = ""

    def __getitem__(self, key: str) -> Any:
        self.last = key
        return super().__getitem__(key)


def _why(claim: Outcome, machine: Machine, values: _Reading, error: Exception) -> str:
    """Returns in one line where a predicate raised, over which record, and on which machine."""
    frames = traceback.extract_tb(error.__traceback__)[1:]  # the first is that of `look`
    own = ("chapters", "claims")  # the folder of predicates, and not this package
    frame = next((f for f in reversed(frames) if Path(f.filename).parts[-3:-1] == own), None)
    path = Path(frame.filename) if frame else Path(claim.id)
    where = f"{path.relative_to(path.parents[2]).as_posix()}:{frame.lineno}" if frame else claim.id
    read = f", where {values.last!r} is {values[values.last]!s}" if values.last in values else ""
    what = " ".join(str(error).split())
    if isinstance(error, KeyError) and values.last not in values:
        what = f"it reads {what}, which is none of its keys: {', '.join(claim.keys)}"
    return (
        f"{where}: the claim {claim.id!r} raised {type(error).__name__} on the machine {machine.name!r}{read}: {what}"
    )
