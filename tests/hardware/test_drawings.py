"""The chapter's drawings: readable in every language, and true to what they show."""

import pytest

from dlperf.hardware import drawings
from tests.drawn import texts

RATES = {
    "L1 cache": "2.22 ns",
    "L2 cache": "5.84 ns",
    "memory": "145 ns, 21.3 GB/s",
    "other core": "244 ns",
    "disk": "32.4 µs",
    "network": "20.3 µs",
    "GPU": "25.1 GB/s",
}
EVERY = {
    "machine": lambda: drawings.machine(RATES),
    "line": drawings.line,
    "chains": drawings.chains,
    "roof": drawings.roof,
    "grid": drawings.grid,
}


def test_what_was_not_measured_is_left_out():
    said = [text.get_text() for text in texts(drawings.machine({"disk": "32.4 µs"}))]
    assert "32.4 µs" in said
    assert not any("GB/s" in each for each in said)


@pytest.mark.parametrize(("words", "shares"), [(16, ["16/16", "16/4", "16/1"]), (32, ["32/32", "32/8", "32/1"])])
def test_a_line_counts_what_is_used(words, shares):
    said = [text.get_text() for text in texts(drawings.line(words))]
    assert [each for each in said if "/" in each] == shares
