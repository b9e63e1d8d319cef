"""Claims: sentences of the book as predicates over records, judged for every machine.

`chapters/claims/<page>.py` holds the ``CLAIMS`` of each page. On the page, the sentence stands in
the ``{claim}`` directive, in each language.
"""

from __future__ import annotations

import runpy
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from booktools.book import Book, BookError
from booktools.records import Machine

HELD, FAILED, STALE, NOT_RUN = "held", "failed", "stale", "not run"


@dataclass(frozen=True)
class Claim:
    """A sentence that measurements can prove wrong.

    ``holds`` is given the records by key: each a `Measurement`, or the number that was recorded.
    ``keys`` are those it reads. ``needs`` is the hardware without which it says nothing. On a
    machine in ``fails_on`` it is known to be false, and the page says why; the text there names
    the label of the explanation.
    """

    id: str
    keys: tuple[str, ...]
    holds: Callable[[Mapping[str, Any]], bool]
    needs: tuple[str, ...] = ()
    fails_on: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Verdict:
    """How a claim stands on one machine: ``held``, ``failed``, ``stale`` or ``not run``, and why not."""

    machine: Machine
    outcome: str
    lacking: tuple[str, ...] = ()


def all_claims(book: Book) -> dict[str, Claim]:
    """Returns every claim of the book by its id; BookError names a file that cannot be used."""
    found: dict[str, Claim] = {}
    for path in sorted((book.chapters / "claims").glob("*.py")):
        try:
            claims = runpy.run_path(str(path))["CLAIMS"]
        except Exception as error:
            raise BookError(f"{book.relative(path)}: cannot be read: {type(error).__name__}: {error}") from None
        for claim in claims:
            if claim.id in found or claim.id.partition(".")[0] != path.stem:
                raise BookError(f"{book.relative(path)}: {claim.id!r} is given twice or belongs to another page")
            found[claim.id] = claim
    return found


def judge(claim: Claim, machine: Machine) -> Verdict:
    """Returns how the claim stands on a machine. A stale record proves nothing, so it is never `held`.

    BookError where its predicate raises: which line, which claim, which key and which machine.
    """
    lacking = tuple(need for need in claim.needs if not machine.has(need))
    if lacking:
        return Verdict(machine, NOT_RUN, lacking)
    missing = tuple(key for key in claim.keys if key not in machine.records)
    if missing:
        return Verdict(machine, NOT_RUN, missing)
    if any(machine.stale(key) for key in claim.keys):
        return Verdict(machine, STALE, tuple(sorted({name for key in claim.keys for name in machine.stale(key)})))
    values = _Reading((key, machine.records[key]["value"]) for key in claim.keys)
    try:
        return Verdict(machine, HELD if claim.holds(values) else FAILED)
    except Exception as error:
        raise BookError(_why(claim, machine, values, error)) from None


class _Reading(dict[str, Any]):
    """The records that a predicate is given; ``last`` is the key that it read last."""

    last = ""

    def __getitem__(self, key: str) -> Any:
        self.last = key
        return super().__getitem__(key)


def _why(claim: Claim, machine: Machine, values: _Reading, error: Exception) -> str:
    """Returns in one line where a predicate raised, over which record, and on which machine."""
    frames = traceback.extract_tb(error.__traceback__)[1:]  # the first is that of `judge`
    frame = next((f for f in reversed(frames) if Path(f.filename).parent.name == "claims"), None)
    path = Path(frame.filename) if frame else Path(claim.id)
    where = f"{path.relative_to(path.parents[2]).as_posix()}:{frame.lineno}" if frame else claim.id
    read = f", where {values.last!r} is {values[values.last]!s}" if values.last in values else ""
    what = " ".join(str(error).split())
    if isinstance(error, KeyError) and values.last not in values:
        what = f"it reads {what}, which is none of its keys: {', '.join(claim.keys)}"
    return (
        f"{where}: the claim {claim.id!r} raised {type(error).__name__} on the machine {machine.name!r}{read}: {what}"
    )
