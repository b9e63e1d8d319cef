"""Check that a machine's records tell a claim from its rival, and whether a claim risked little.

A claim says something only if what it excludes would have failed it. So on every machine that was recorded this is
asked: if the rival were true, would the claim fail, and would it still if any one of the measurements had come out half
an interquartile range higher or lower? Where such a step turns the claim itself, its page calls the verdict close.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from booktools.claims.claims import FAILED, HELD, NOT_RUN, STALE, Claim, Records, judge, variants
from booktools.executions.records import Machine
from dlperf.measurement import Measurement


def discrimination_failures(claim: Claim, machine: Machine) -> list[str]:
    """Returns why a machine's records do not tell the claim from its rival, as messages.

    None where it was not run, nor of a stale record, which proves nothing either way.
    """
    if judge(claim, machine).outcome in (NOT_RUN, STALE):
        return []
    if claim.rival is None:
        return [f"{claim.id} names no rival: what else could be true, which measurements would have to exclude?"]
    records = {key: machine.records[key]["value"] for key in claim.keys}
    excluded = {**records, **placed(records, claim.rival.records(records))}
    return [
        f"{claim.id}@{machine.name}: its rival ({claim.rival.says}) passes it where {what}"
        for what, moved in [("all is as it was measured", excluded), *variants(excluded)]
        if claim.holds(moved)
    ]


def is_easy(claim: Claim, machines: Iterable[Machine]) -> bool:
    """Returns whether a claim holds wherever it was run, and would if any one number had been half or twice as large.

    Such a claim risked little.
    """
    judged = [machine for machine in machines if judge(claim, machine).outcome in (HELD, FAILED)]
    return bool(judged) and all(claim.holds(moved) for machine in judged for moved in _scaled(claim, machine))


def _scaled(claim: Claim, machine: Machine) -> Iterator[Records]:
    """Yields a claim's records as they are, and with each number half and twice as large."""
    records = {key: machine.records[key]["value"] for key in claim.keys}
    yield records
    for key, value in records.items():
        middle = value.median if isinstance(value, Measurement) else value
        if isinstance(middle, (int, float)):
            yield from ({**records, **placed(records, {key: middle * factor})} for factor in (0.5, 2))


def placed(records: Records, medians: Mapping[str, float]) -> dict[str, Any]:
    """Returns the records that have other medians, each with the spread that it has, in proportion.

    KeyError for a key that the claim does not read.
    """
    return {key: _with_median(records[key], median) for key, median in medians.items()}


def _with_median(value: Any, median: float) -> Any:
    if not isinstance(value, Measurement):
        return median
    if not value.median:
        return replace(value, samples=tuple(x + median for x in value.samples))
    return value * (median / value.median)
