"""The lines below a claim: who says something of it, what, and who does not."""

from __future__ import annotations

import pytest

from booktools import edition
from booktools.claims import Claim, Rival
from booktools.edition import Edition, labels_of
from booktools.records import Machine
from booktools.verdicts import ClaimDirective
from dlperf.measurement import Measurement
from tests.booktools.test_claims import BOOK, machine

CLAIM = Claim("p.fast", ("p.a",), lambda r: r["p.a"].median > 1.2, rival=Rival("as fast", lambda r: {"p.a": 1.0}))
CLEAR = Measurement((1.9, 2.0, 2.1, 2.0, 2.0))
WIDE = Measurement((1.0, 1.1, 1.3, 2.0, 2.4))
SLOW = Measurement((1.0, 1.0, 1.0, 1.0, 1.0))


def lines(monkeypatch: pytest.MonkeyPatch, *machines: Machine, language: int = 0) -> list[str]:
    """Returns the lines of the claim in an edition of the first of some machines."""
    here = BOOK.languages[language]
    shown = Edition(BOOK, here, machines[0].name, list(machines), {}, labels_of(BOOK, here))
    monkeypatch.setattr(edition, "_current", [shown])
    directive = ClaimDirective.__new__(ClaimDirective)
    return [line.astext() for line in directive.verdicts(CLAIM).children]


def test_each_machine_that_says_something_has_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    held, failed = machine({"p.a": CLEAR}), machine({"p.a": SLOW})
    first, second = lines(monkeypatch, held, failed)
    assert first.startswith("✓ held · ")
    assert second.startswith("✗ failed · ")


def test_what_the_spread_does_not_tell_from_its_rival_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lines(monkeypatch, machine({"p.a": WIDE}))[0].startswith("✓ held: within the spread · ")
    assert lines(monkeypatch, machine({"p.a": WIDE}), language=1)[0].startswith("✓ 成立：但未超出离散程度 · ")


def test_all_that_say_nothing_share_a_line_but_the_edition_s_own(monkeypatch: pytest.MonkeyPatch) -> None:
    stale, without = machine({"p.a": CLEAR}, stale=("dlperf.timing",)), machine({})
    own, others = lines(monkeypatch, without, stale, without)
    assert own.startswith("– not run: p.a · ")
    assert others == f"– stale or not run: {stale.name}, {without.name}"
