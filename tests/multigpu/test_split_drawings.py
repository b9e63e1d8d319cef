"""The drawings of the ways to split: made of the book's colours, and true to what they show."""

import pytest

from booktools.catalogue import Catalogue
from dlperf.multigpu import drawings
from dlperf.records import svg
from tests.drawn import faults

EVERY = {name: getattr(drawings, name) for name in ("three_ways", "pipelines")}


@pytest.mark.parametrize("name", EVERY)
def test_nothing_is_wrong_with_a_drawing(name):
    assert faults(EVERY[name](), Catalogue(None)) == []


def test_a_pipeline_follows_its_micro_batches():
    other = drawings.pipelines(micro_batches=2)
    assert svg(other) != svg(drawings.pipelines())
    assert faults(other, Catalogue(None)) == []
