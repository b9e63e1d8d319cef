"""How many rows and parts of a table a step has, as expected and as drawn, and the bytes of both ways."""

from __future__ import annotations

from statistics import mean

import pytest
import torch

from dlperf.servers.embeddings import Table, dense_bytes, distinct, parts, parts_hit, row_bytes, seconds, zipf

TABLE = Table(20_000, 64, 300)


@pytest.fixture(scope="module")
def draws():
    generator = torch.Generator().manual_seed(0)
    return [zipf(TABLE, generator) for _ in range(200)]


def test_as_many_rows_differ_as_expected(draws):
    assert mean(len(rows.unique()) for rows in draws) == pytest.approx(distinct(TABLE), rel=0.02)


def test_as_many_parts_are_hit_as_expected(draws):
    stops = torch.tensor([part.stop for part in parts(TABLE, 2)])
    hit = mean(len(torch.searchsorted(stops, rows, right=True).unique()) for rows in draws)
    assert hit == pytest.approx(parts_hit(TABLE, 2), rel=0.02)


def test_the_first_row_comes_twice_as_often_as_the_second(draws):
    counts = torch.cat(draws).bincount(minlength=TABLE.rows)
    assert float(counts[0] / counts[1]) == pytest.approx(2, rel=0.1)


def test_bytes_of_all_rows_are_those_of_the_table_and_their_numbers():
    sent, got = row_bytes(TABLE, TABLE.rows)
    assert dense_bytes(TABLE) == (got, TABLE.size)
    assert sent == got + 16 * TABLE.rows


def test_the_link_carries_one_after_the_other():
    assert seconds(1e6, 2e6) == pytest.approx(3e6 / (125e6 * 1448 / 1514))
