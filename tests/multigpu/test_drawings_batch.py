"""The drawings of the section on the batch: readable, and true to the formula."""

import pytest

from booktools.catalogue import Catalogue
from dlperf.multigpu import drawings_batch as drawings
from dlperf.records import svg
from tests.drawn import faults

EVERY = {"batch_steps": drawings.steps, "statistics": drawings.statistics}


@pytest.mark.parametrize(
    ("name", "arguments"), [("batch_steps", {"devices": (1, 2, 8)}), ("statistics", {"devices": 2})]
)
def test_a_drawing_follows_its_arguments(name, arguments):
    other = EVERY[name](**arguments)
    assert svg(other) != svg(EVERY[name]())
    assert faults(other, Catalogue(None)) == []
