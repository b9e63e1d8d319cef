"""The chapter's drawings: readable in every language, made of the book's colours, and true to what they show."""

import matplotlib.pyplot as plt
import pytest

from booktools.catalogue import Catalogue
from dlperf import drawing
from dlperf.parallel import drawings
from dlperf.records import svg
from tests.conftest import ROOT
from tests.drawn import faults, outlines

EVERY = {name: getattr(drawings, name) for name in ("step", "narrow", "chunks", "sent")}


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


@pytest.mark.parametrize("language", [None, "labels.zh.po"], ids=["en", "zh"])
@pytest.mark.parametrize("name", EVERY)
def test_nothing_is_wrong_with_a_drawing(name, language):
    assert faults(EVERY[name](), Catalogue(language and ROOT / "chapters" / language)) == []


@pytest.mark.parametrize("name", EVERY)
def test_a_drawing_fits_its_canvas_and_is_the_same_each_time(name):
    fig = EVERY[name]()
    assert fig.get_figwidth() == drawing.WIDTH
    for points in outlines(fig):
        low, high = points.min(axis=0), points.max(axis=0)
        assert (low >= -1).all()
        assert (high <= fig.bbox.max + 1).all()
    assert svg(fig) == svg(EVERY[name]())


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("step", {"layers": 4}),
        ("narrow", {"split": 0.5}),
        ("chunks", {"send": 2.0, "number": 3}),
        ("sent", {"buckets": (2, 2)}),
    ],
)
def test_a_drawing_follows_its_arguments(name, arguments):
    other = EVERY[name](**arguments)
    assert svg(other) != svg(EVERY[name]())
    assert faults(other, Catalogue(None)) == []
