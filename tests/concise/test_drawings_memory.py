"""The drawing of who holds what: it follows its arguments, and nothing is wrong with it."""

from booktools.catalogue import Catalogue
from dlperf.concise import drawings_memory
from dlperf.records import svg
from tests.drawn import faults

EVERY = {"sharded": drawings_memory.sharded}


def test_a_drawing_follows_its_arguments():
    other = drawings_memory.sharded(devices=3, state=3)
    assert svg(other) != svg(drawings_memory.sharded())
    assert faults(other, Catalogue(None)) == []


def test_nothing_is_wrong_with_it():
    assert faults(drawings_memory.sharded(), Catalogue(None)) == []
