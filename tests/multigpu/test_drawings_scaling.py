"""The drawing of strong and weak scaling shows what the formula says."""

from __future__ import annotations

import pytest
from matplotlib.patches import FancyBboxPatch

from booktools.catalogue import Catalogue
from dlperf.multigpu import drawings_scaling
from tests.drawn import faults

EVERY = {"scaling": drawings_scaling.scaling}


def test_nothing_is_wrong_in_english() -> None:
    assert faults(drawings_scaling.scaling(), Catalogue(None)) == []


def test_shares_are_halved_with_the_same_batch_and_kept_with_the_same_share() -> None:
    (axes,) = drawings_scaling.scaling().axes
    boxes = [p for p in axes.patches if isinstance(p, FancyBboxPatch)]
    one, half, whole = boxes[1].get_width(), boxes[3].get_width(), boxes[9].get_width()
    assert half == pytest.approx(one / 2)
    assert whole == pytest.approx(one)
