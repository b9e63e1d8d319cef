"""The drawings and tables of the ways to split: made of the book's colours, and true to what they show."""

import pytest

from booktools.show.catalogue import Catalogue
from dlperf.measurement import Measurement
from dlperf.multigpu import drawings_splits as drawings
from dlperf.multigpu.splits import Case, Sizes, Strategy
from dlperf.records import svg
from tests.drawn import faults

EVERY = {"three_ways": drawings.three_ways, "pipelines": drawings.pipelines}


@pytest.mark.parametrize("name", EVERY)
def test_nothing_is_wrong_with_a_drawing(name):
    assert faults(EVERY[name](), Catalogue(None)) == []


def test_a_pipeline_follows_its_micro_batches():
    other = drawings.pipelines(micro_batches=2)
    assert svg(other) != svg(drawings.pipelines())
    assert faults(other, Catalogue(None)) == []


def test_the_table_of_costs_shows_what_was_found_and_a_dash_for_what_was_not_counted():
    cases = [Case(Strategy.LAYER, Sizes(4, 100, 8)), Case(Strategy.NETWORK, Sizes(4, 100, 8), 4)]
    found = {"layer-memory-ratio": 1.07, "network-4-memory-ratio": 0.93}
    for key in ("layer", "network-4"):
        found |= {f"{key}-step": Measurement((0.123,)), f"{key}-waiting": Measurement((0.77,), "1")}
    found["network-4-bytes-ratio"] = Measurement((1.49,), "1")
    layer, network = drawings.costs(found, cases).rows
    assert layer == ("by layer", "–", "3.35 kB", "–", "12.9 kB", "1.07", "–", "77 %", "123 ms")
    assert network[:4] == ("by network", "4", "134 B", "1.49")
    assert network[6:8] == ("20 %", "77 %")


def test_the_table_of_choices_has_a_row_for_each_plan():
    table = drawings.choices()
    rows = [list(map(str, row)) for row in table.rows]
    assert all(len(row) == len(table.heads) for row in rows)
    assert {row[-1] for row in rows} == {"by data", "by layer", "by network", "none fits"}
    assert rows[-1][4:7] == ["–", "–", "–"]
