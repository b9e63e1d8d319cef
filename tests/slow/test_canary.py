"""The canary as a record asks it: in a process of its own."""

from __future__ import annotations

from booktools.executions import canary


def test_the_clocks_are_positive_seconds_of_a_process_of_their_own() -> None:
    found = canary.ask()
    assert found.keys() == {"operator", "product", "step"}
    assert all(seconds > 0 for seconds in found.values())
