"""The drawing of what each way sends."""

from __future__ import annotations

from booktools.catalogue import Catalogue
from dlperf.concise import drawings_scale
from tests.drawn import faults

EVERY = {"ways": drawings_scale.ways}


def test_nothing_is_wrong_in_english() -> None:
    assert faults(drawings_scale.ways(), Catalogue(None)) == []


def test_sharded_sends_three_pieces_where_data_sends_one() -> None:
    layers = 3
    (axes,) = drawings_scale.ways(layers).axes
    legend = 2
    drawn = len(axes.patches) - legend
    data, sharded, tensor = 2 * layers + layers, 2 * layers + 3 * layers, 2 * layers + 2 * layers + layers
    assert drawn == data + sharded + tensor
