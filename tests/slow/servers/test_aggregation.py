"""Adding up on one device, on the CPU and in parts, and rows of a table, over links of a network."""

from __future__ import annotations

import pytest

from dlperf.network import unavailable
from dlperf.servers import aggregation_trials, embeddings

pytestmark = pytest.mark.skipif(bool(unavailable()), reason="this system makes no network namespaces")


def test_every_shape_takes_what_its_fullest_link_takes():
    trial = aggregation_trials.measured(3, 2**21, repeats=3)
    assert set(trial.measured) == set(trial.predicted) == {"one device", "CPU", "sharded"}
    for shape, measured in trial.measured.items():
        assert min(measured.samples) > 0.9 * trial.predicted[shape]  # links are limited


def test_rows_send_what_they_are_and_dense_steps_the_table():
    trial = embeddings.measured(embeddings.Table(20_000, 64, 100), repeats=3)
    dense, rows = trial.sent["dense"], trial.sent["rows"]
    assert 1 < min(dense.samples) / trial.tensors["dense"] < 1.2
    assert min(rows.samples) < dense.median / 20  # in others parts of a dense push may leave again
    assert min(trial.taken["dense"].samples) > 0.98 * trial.links["dense"]
