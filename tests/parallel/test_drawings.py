"""The chapter's drawings: readable in every language, made of the book's colours, and true to what they show."""

import pytest

from booktools.show.catalogue import Catalogue
from dlperf.parallel import drawings
from dlperf.records import svg
from tests.drawn import faults

EVERY = {name: getattr(drawings, name) for name in ("step", "narrow", "chunks", "sent", "graham")}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("step", {"layers": 4}),
        ("narrow", {"split": 0.5}),
        ("chunks", {"send": 2.0, "number": 3}),
        ("sent", {"buckets": (2, 2)}),
        ("graham", {"fifth": 4.0}),
    ],
)
def test_a_drawing_follows_its_arguments(name, arguments):
    other = EVERY[name](**arguments)
    assert svg(other) != svg(EVERY[name]())
    assert faults(other, Catalogue(None)) == []


def test_a_core_that_would_not_idle_is_no_picture_of_one():
    with pytest.raises(ValueError, match="longer than the fourth, got 1 and 1"):
        drawings.graham(1, 1)
