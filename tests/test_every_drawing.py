"""Every chapter's drawings: readable in every language, made of the book's colours, and within their canvas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from booktools.show.catalogue import Catalogue
from dlperf import drawing
from dlperf.records import svg
from tests.asynchrony.test_drawings import EVERY as ASYNCHRONY
from tests.compilers.test_drawings import EVERY as COMPILERS
from tests.conftest import ROOT
from tests.drawn import faults, outlines
from tests.hardware.test_drawings import EVERY as HARDWARE
from tests.measuring.test_drawings import EVERY as MEASURING
from tests.multigpu.test_drawings import EVERY as MULTIGPU
from tests.multigpu.test_drawings_batch import EVERY as BATCH
from tests.multigpu.test_drawings_splits import EVERY as SPLITS
from tests.parallel.test_drawings import EVERY as PARALLEL
from tests.servers.test_drawings import EVERY as SERVERS

CHAPTERS: dict[str, dict[str, Callable[[], Any]]] = {
    "measuring": MEASURING,
    "compilers": COMPILERS,
    "asynchrony": ASYNCHRONY,
    "parallel": PARALLEL,
    "hardware": HARDWARE,
    "multigpu": MULTIGPU | BATCH | SPLITS,
    "servers": SERVERS,
}
EVERY = {f"{chapter}.{name}": draw for chapter, drawings in CHAPTERS.items() for name, draw in drawings.items()}


@pytest.mark.parametrize("language", [None, "labels.zh.po"], ids=["en", "zh"])
@pytest.mark.parametrize("name", EVERY)
def test_nothing_is_wrong_with_a_drawing(name: str, language: str | None) -> None:
    assert faults(EVERY[name](), Catalogue(language and ROOT / "chapters" / language)) == []


@pytest.mark.parametrize("name", EVERY)
def test_a_drawing_fits_its_canvas_and_is_the_same_each_time(name: str) -> None:
    fig = EVERY[name]()
    assert fig.get_figwidth() == drawing.WIDTH
    for points in outlines(fig):
        low, high = points.min(axis=0), points.max(axis=0)
        assert (low >= -1).all()
        assert (high <= fig.bbox.max + 1).all()
    assert svg(fig) == svg(EVERY[name]())
