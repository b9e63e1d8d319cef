"""Claims and their rivals: what a claim excludes fails it, by more than the measurements spread."""

from __future__ import annotations

import pytest

from booktools.claims.claims import FAILED, HELD, Claim, Rival, all_claims, judge, variants
from booktools.claims.rivals import discrimination_failures, is_easy, placed
from dlperf.measurement import Measurement
from tests.booktools.claims.test_claims import BOOK, CASES, machine, machines, skip_if_stale

BOTH = Measurement((0.9, 1.0, 1.1))  # median 1.0, half its interquartile range 0.05


def claim(limit: float, rival: float | None = 2.0) -> Claim:
    """Returns the claim that p.a is below ``limit``; its rival has it at ``rival``."""
    return Claim(
        "p.max",
        ("p.a",),
        lambda r: r["p.a"].median < limit,
        rival=None if rival is None else Rival("the parts add up", lambda r: {"p.a": rival}),
    )


def test_a_claim_between_its_record_and_its_rival_s_is_fine() -> None:
    assert discrimination_failures(claim(1.5), machine({"p.a": BOTH})) == []


@pytest.mark.parametrize(
    ("limit", "rival", "why"),
    [
        (1.5, None, "names no rival"),
        (3.0, 2.0, r"its rival \(the parts add up\) passes it where all is as it was measured"),
        (1.95, 2.0, r"its rival .* passes it where p\.a .* half its interquartile range lower"),
    ],
)
def test_a_claim_that_cannot_tell_is_objected_to(limit: float, rival: float | None, why: str) -> None:
    found = discrimination_failures(claim(limit, rival), machine({"p.a": BOTH}))
    assert found
    with pytest.raises(AssertionError, match=why):
        raise AssertionError(found)


def test_where_a_claim_was_not_run_there_is_nothing_to_object() -> None:
    assert discrimination_failures(claim(1.5), machine({"p.b": 1.0})) == []


def test_a_stale_record_is_no_objection() -> None:
    assert discrimination_failures(claim(0.5), machine({"p.a": BOTH}, stale=("dlperf.timing",))) == []


def test_a_rival_s_record_keeps_its_spread_in_proportion() -> None:
    m = placed({"p.a": BOTH, "p.n": 3}, {"p.a": 2.0, "p.n": 5})
    assert m["p.a"].median == 2.0
    assert m["p.a"].spread == pytest.approx(BOTH.spread)
    assert m["p.n"] == 5


def test_each_measurement_is_moved_by_itself() -> None:
    moved = [values["p.a"].median for _, values in variants({"p.a": BOTH, "p.n": 3})]
    assert moved == pytest.approx([1.05, 0.95])


@pytest.mark.parametrize(
    ("limit", "outcome", "close"), [(1.5, HELD, False), (1.04, HELD, True), (0.96, FAILED, True), (0.5, FAILED, False)]
)
def test_a_verdict_that_half_a_spread_would_turn_is_close(limit: float, outcome: str, close: bool) -> None:
    verdict = judge(claim(limit), machine({"p.a": BOTH}))
    assert (verdict.outcome, verdict.close) == (outcome, close)


@pytest.mark.parametrize(("limit", "easy"), [(2.5, True), (1.9, False), (0.5, False)])
def test_a_claim_that_a_factor_of_two_would_not_fail_is_easy(limit: float, easy: bool) -> None:
    assert is_easy(claim(limit), [machine({"p.a": BOTH}), machine({"p.b": 1.0})]) == easy


def test_a_claim_that_ran_nowhere_is_not_easy() -> None:
    assert not is_easy(claim(2.5), [machine({"p.a": BOTH}, stale=("cells",))])


def test_every_claim_names_its_rival() -> None:
    claims = all_claims(BOOK).values()
    assert [c.id for c in claims if c.rival is None] == []


@pytest.mark.parametrize(("claim", "name"), CASES, ids=[f"{claim.id}@{name}" for claim, name in CASES])
def test_committed_records_tell_each_claim_from_its_rival(claim: Claim, name: str) -> None:
    """Where measurements scatter too widely for that, the claim says so beforehand, and they must then really do so."""
    recorded = machines()[name]
    skip_if_stale(claim, recorded)
    if lacking := judge(claim, recorded).lacking:
        pytest.skip(f"{recorded.name} lacks {', '.join(lacking)}")
    found = discrimination_failures(claim, recorded)
    if name in claim.scatters_on:
        assert found
    else:
        assert found == []
