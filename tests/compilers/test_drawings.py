"""The chapter's drawings: readable in every language, made of the book's colours, and true to what they show."""

import pytest

from booktools.show.catalogue import Catalogue
from dlperf.compilers import drawings
from dlperf.records import svg
from tests.drawn import faults

EVERY = {name: getattr(drawings, name) for name in ("ways", "passes", "launches")}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("ways", {"operators": drawings.OPERATORS[:4], "fused": drawings.FUSED[:3]}),
        ("passes", {"operations": ("× a", "+ b")}),
        ("launches", {"kernels": 4, "running": 0.6}),
    ],
)
def test_a_drawing_follows_its_arguments(name, arguments):
    other = EVERY[name](**arguments)
    assert svg(other) != svg(EVERY[name]())
    assert faults(other, Catalogue(None)) == []


def test_too_many_operations_are_found_out():
    assert faults(drawings.passes(("× a",) * 6), Catalogue(None))


def test_a_compiled_program_does_the_same_products_in_less_time():
    works = {name: [length for length, color in row if color == drawings.WORKS] for name, row in rows().items()}
    assert works["eager"] == works["compiled"] != []
    assert sum(length for length, _ in drawings.FUSED) < sum(length for length, _ in drawings.OPERATORS)


def rows():
    return {"eager": drawings.OPERATORS, "compiled": drawings.FUSED}
