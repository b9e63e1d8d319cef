"""The chapter's plots: frames are what was predicted, fills what was counted, and every label has its Chinese."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dlperf.alpha_beta import Line
from dlperf.measurement import Measurement
from dlperf.servers import drawings_links, drawings_scale, drawings_waiting, loads
from dlperf.servers.collective_trials import ALL, Compared
from dlperf.servers.failures import UsefulTime
from dlperf.servers.loads import Links, Load
from dlperf.servers.slowness import Sweep
from tests.servers.test_runs import RUN
from tests.servers.test_slowness import ALONE, made_up


def heights(axis, full):
    return [bar.get_height() for bar in axis.patches if bar.get_fill() == full and bar.get_height()]


def test_frames_are_phases_and_fills_are_counts():
    counts = (Load(11, 12), Load(13, 14))
    links = Links(("s0", "w0"), ((Load(1, 2), Load(3, 0)), (Load(5, 0), Load(0, 8))), counts)
    fig = drawings_links.links({"made up": links})
    axis = fig.axes[0]
    assert heights(axis, full=True) == [11, 12, 13, 14]
    assert sorted(heights(axis, full=False)) == [1, 2, 3, 5, 8]
    stacked = [bar for bar in axis.patches if bar.get_height() == 5]
    assert stacked[0].get_y() == 1  # the second phase stands on the first
    assert [label.get_text() for label in axis.get_xticklabels()] == ["s0", "w0"]


def test_a_dead_machine_has_no_bars():
    nothing = Links(("s1",), ((Load(),),), (Load(),))
    assert heights(drawings_links.links({"dead": nothing}).axes[0], full=False) == []


def test_pushes_stand_beside_what_was_predicted():
    fig = drawings_waiting.pushes({0: RUN, None: RUN}, {0: [7.0, 7.0], None: [9.0, 1.0]})
    assert [axis.get_title() for axis in fig.axes] == ["BSP", "ASP"]
    assert heights(fig.axes[0], full=True) == RUN.rates
    assert heights(fig.axes[1], full=False) == [9.0, 1.0]


def test_curves_are_those_of_the_runs():
    fig = drawings_waiting.losses({0: RUN}, [(RUN, "-", "momentum")])
    for axis in fig.axes:
        assert list(zip(*axis.lines[0].get_data(), strict=True)) == RUN.curve


def test_runs_of_one_staleness_are_one_row_of_the_dense_table():
    quick = [made_up(None, 1, [[0.5] * rounds] * 2, [(1.0, loss)]) for rounds, loss in ((2, 1.0), (4, 3.0), (9, 2.0))]
    table = drawings_waiting.dense(
        {"momentum": [made_up(4, 1, [[0.5]] * 3, [(1.0, 0.5)]), *quick], "no momentum": quick[:1]}
    )
    assert list(table.rows) == [
        ("momentum", "SSP, 4", "1", "2.0", "0.50"),
        ("momentum", "ASP", "4", "1.0", "2.00"),
        ("no momentum", "ASP", "2", "1.0", "1.00"),
    ]


@pytest.fixture
def compared() -> Compared:
    taken = {
        (way, size): Measurement((size * 1e-6 * scale,) * 5, "s", pairing_id="together")
        for scale, way in enumerate(ALL, 1)
        for size in (1000, 2000)
    }
    counts = {"ring": loads.total(loads.spread(4)), "tree": loads.total(loads.tree(4))}
    return Compared(4, taken, counts, Line(0.0, 1e-6))


def test_ways_are_compared_by_size(compared):
    assert compared.sizes == [1000, 2000]
    assert compared.ratio("tree", "ring", 1000).median == pytest.approx(2)
    assert all(picture.off == pytest.approx(0) for picture in compared.links.values())
    told = {way: compared.told(way, 2000) for way in ("ring", "tree", "halving-doubling")}
    worst = max(abs(compared.taken[way, 2000].median / seconds - 1) for way, seconds in told.items())
    assert compared.off == pytest.approx(worst)
    assert len(drawings_scale.by_size(compared).axes) == 1


def test_where_two_ways_cross(compared):
    assert compared.crossed("tree", "ring") == (0, 1000)  # never faster
    assert compared.crossed("ring", "tree") == (2000, 4000)  # always
    faster = {size: compared.taken["ring", size] / (2.0 if size == 1000 else 0.5) for size in (1000, 2000)}
    mixed = replace(compared, taken=compared.taken | {("tree", size): m for size, m in faster.items()})
    assert mixed.crossed("tree", "ring") == (1000, 2000)
    assert compared.crossover("tree", "ring") is None  # without a latency the ring wins for every size
    slow = replace(compared, line=Line(1e-3, 1e-6))
    told = slow.crossover("tree", "ring")
    assert slow.told("tree", told) == pytest.approx(slow.told("ring", told))
    dotted = [line for line in drawings_scale.by_size(slow).axes[0].lines if line.get_linestyle() == ":"]
    assert [set(line.get_xdata()) for line in dotted] == [{told}]


def test_a_sweep_over_stragglers_is_drawn_beside_what_was_predicted():
    run = made_up(0, 1, ALONE, [(0.0, 1.0), (0.9, 0.6)])
    sweep = Sweep({(staleness, slow): run for staleness in (0, 4, None) for slow in (1, 8)}, 0.2)
    never = made_up(None, 8, ALONE, [(0.0, 1.0), (0.9, 0.7)])
    sweep = replace(sweep, runs=sweep.runs | {(None, 8): never})
    steps, stale, gain = drawings_waiting.stragglers(sweep).axes
    dots, told = steps.lines[:2]
    assert list(dots.get_ydata()) == [run.rate] * 2
    assert list(told.get_ydata()) == [sweep.told(0, 1), sweep.told(0, 8)]
    assert len(stale.lines) == 3
    assert len(gain.lines) == 2 * (1 + 2)  # a line and two points each, but for the bound
    assert [line.get_marker() == "X" for line in gain.lines] == [*[False] * 5, True]


def test_useful_time_stands_below_as_a_line_by_formula_and_dots_simulated():
    useful = [{"checkpoints": UsefulTime(0.9, 0.8), "takeovers": UsefulTime(1.0, 0.95)}] * 2
    _, below = drawings_scale.by_workers([2, 4], {"ring": [1.0, 2.0]}, useful).axes
    assert [list(line.get_ydata()) for line in below.lines] == [[0.9] * 2, [0.8] * 2, [1.0] * 2, [0.95] * 2]


def test_the_table_has_a_row_for_each_way():
    rows = list(drawings_scale.table((4, 4096)).rows)
    assert ("single server", "8", "8,192", "4,096", "2") in rows
    assert ("ring", "1.5", "2", "8,190", "8,190") in rows
    assert ("tree", "4", "24", "12", "24") in rows
