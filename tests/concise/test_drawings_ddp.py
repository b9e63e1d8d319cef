"""The drawings of DistributedDataParallel: nothing lies on anything else, and they show what they are told."""

import pytest

from booktools.catalogue import Catalogue
from dlperf.concise import drawings_ddp as drawings
from dlperf.records import svg
from tests.drawn import faults

EVERY = {name: getattr(drawings, name) for name in ("three_lines", "bucketed")}


@pytest.mark.parametrize("name", EVERY)
def test_nothing_is_wrong_with_a_drawing(name: str) -> None:
    assert faults(EVERY[name](), Catalogue(None)) == []


def test_a_drawing_follows_its_arguments() -> None:
    other = drawings.bucketed(latency=0.3)
    assert svg(other) != svg(drawings.bucketed())
    assert faults(other, Catalogue(None)) == []
