"""The drawing of epochs: readable, and true to what PyTorch's sampler does."""

from booktools.catalogue import Catalogue
from dlperf.concise import drawings_accuracy as drawings
from dlperf.records import svg
from tests.drawn import faults

EVERY = {"epochs": drawings.epochs}


def test_a_drawing_follows_its_arguments():
    other = drawings.epochs(seed=1)
    assert svg(other) != svg(drawings.epochs())
    assert faults(other, Catalogue(None)) == []


def test_ranks_see_what_the_names_promise():
    see = lambda way, rank, epoch: drawings.seen(way, 8, rank, epoch)
    for way in ("set_epoch", "no set_epoch"):
        assert sorted(see(way, 0, 0) + see(way, 1, 0)) == list(range(8))
    assert see("set_epoch", 0, 0) != see("set_epoch", 0, 1)
    assert see("no set_epoch", 0, 0) == see("no set_epoch", 0, 1)
    assert sorted(see("no sampler", 0, 0)) == sorted(see("no sampler", 1, 0)) == list(range(8))
    assert see("no sampler", 0, 0) != see("no sampler", 1, 0)
