"""Claims: sentences of the book as predicates over records, judged for every machine.

A module here for each chapter holds its ``CLAIMS``. On the page, the sentence stands in the
``{claim}`` directive, in each language.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from booktools.book import BookError
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


def all_claims() -> dict[str, Claim]:
    """Returns every claim by its id; BookError on an id given twice."""
    found: dict[str, Claim] = {}
    for info in pkgutil.iter_modules(__path__):
        for claim in importlib.import_module(f"{__name__}.{info.name}").CLAIMS:
            if claim.id in found:
                raise BookError(f"claims/{info.name}.py: the claim {claim.id!r} is given twice")
            found[claim.id] = claim
    return found


def judge(claim: Claim, machine: Machine) -> Verdict:
    """Returns how the claim stands on a machine. A stale record proves nothing, so it is never `held`."""
    lacking = tuple(need for need in claim.needs if not machine.has(need))
    if lacking:
        return Verdict(machine, NOT_RUN, lacking)
    missing = tuple(key for key in claim.keys if key not in machine.records)
    if missing:
        return Verdict(machine, NOT_RUN, missing)
    if any(machine.stale(key) for key in claim.keys):
        return Verdict(machine, STALE, tuple(sorted({name for key in claim.keys for name in machine.stale(key)})))
    values = {key: machine.records[key]["value"] for key in claim.keys}
    return Verdict(machine, HELD if claim.holds(values) else FAILED)
