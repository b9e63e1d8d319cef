"""The table and the figure past one machine, of clusters whose numbers nobody would expect."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dlperf.concise import at_scale, drawings_scale, published

ODD = replace(published.a100(7e12), memory=400e9)
MODEL = published.GPT3


def test_the_table_has_each_row_and_its_ratio() -> None:
    table = drawings_scale.comparison(ODD)
    rows = list(table.rows)
    assert [row[-1] for row in rows] == [f"{fit:.2f}" for fit in published.fits(ODD)]
    assert all(len(row) == len(table.heads) for row in rows)
    assert {row[1] for row in rows} == {"tensor × data", drawings_scale.IN_STAGES, "sharded"}


def test_a_way_can_run_where_its_state_fits_and_sequences_are_whole() -> None:
    able = drawings_scale.able
    assert not able("data", MODEL, ODD, 1536, 8)
    assert able("tensor × data", MODEL, ODD, 16, 128)
    assert not able("tensor × data", MODEL, ODD, 15, 128)
    assert not able("tensor × data", MODEL, replace(ODD, memory=80e9), 16, 128)
    assert able("sharded", MODEL, ODD, 16, 16)
    assert not able("sharded", MODEL, ODD, 16, 17)
    assert not able("sharded", MODEL, ODD, 16, 6)


def test_counts_are_whole_nodes_from_8_to_4096() -> None:
    counts = drawings_scale.COUNTS
    assert (counts[0], counts[-1]) == (8, 4096)
    assert all(k % 8 == 0 for k in counts)
    assert list(counts) == sorted(set(counts))


def test_lines_are_rates_and_diamonds_stand_at_bends_within_the_figure() -> None:
    cluster = replace(ODD, flops=137e12)
    axes = drawings_scale.rates(MODEL, cluster, 1536).axes[0]
    dotted = [line for line in axes.lines if line.get_linestyle() == ":"]
    assert len(dotted) == len(at_scale.WAYS)
    taken = at_scale.data_parallel(MODEL, cluster, 4096, 1536).seconds
    assert dotted[0].get_ydata()[-1] == pytest.approx(1536 * 2048 / (4096 * taken))
    bends = sorted(line.get_xdata()[0] for line in axes.lines if line.get_marker() == "D" and len(line.get_xdata()))
    flat = [at_scale.flat_from(MODEL, cluster, 1536, way) for way in ("sharded", "data")]
    assert bends == pytest.approx(flat)
    assert {text.get_text() for text in axes.get_legend().get_texts()} >= set(at_scale.WAYS)


def test_published_rates_are_marked() -> None:
    axes = drawings_scale.rates(MODEL, ODD, 1536).axes[0]
    marks = {line.get_label(): line for line in axes.lines}
    run = published.GPT3_SHARDED[2]
    found = marks["published, sharded"]
    assert list(found.get_xdata()) == [384, 768, 1536]
    assert found.get_ydata()[2] == pytest.approx(1536 * 2048 / (1536 * run.seconds))
