"""The drawings of a data-parallel step and of three ways to reduce."""

from __future__ import annotations

import pytest

from booktools.catalogue import Catalogue
from dlperf.multigpu import drawings_lenet
from dlperf.records import svg
from tests.drawn import faults

EVERY = {name: getattr(drawings_lenet, name) for name in ("step", "reductions")}


@pytest.mark.parametrize("name", EVERY)
def test_nothing_is_wrong_with_a_drawing(name):
    assert faults(EVERY[name](), Catalogue(None)) == []


@pytest.mark.parametrize(("name", "arguments"), [("step", {"devices": 3}), ("reductions", {"size": 4})])
def test_a_drawing_follows_its_arguments(name, arguments):
    other = EVERY[name](**arguments)
    assert svg(other) != svg(EVERY[name]())
    assert faults(other, Catalogue(None)) == []
