"""The performance model: counts against PyTorch's own counter, the rest against its definition."""

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from dlperf.measuring import model

SIZE = st.integers(1, 300)
HERE = model.Machine(peak=1e12, bandwidth=1e11, overhead=1e-6)


@given(SIZE, SIZE, SIZE)
def test_product_flops_are_what_pytorch_counts(b, d, f):
    with FlopCounterMode(display=False) as counter:
        torch.empty(b, d) @ torch.empty(d, f)
    assert model.product_flops(b, d, f) == counter.get_total_flops()


@given(SIZE, SIZE, SIZE)
def test_product_bytes_are_the_sizes_of_the_arrays(b, d, f):
    arrays = np.empty((b, d), np.float32), np.empty((d, f), np.float32), np.empty((b, f), np.float32)
    assert model.product_bytes(b, d, f) == sum(a.nbytes for a in arrays)


@given(SIZE)
def test_intensity_of_a_square_product_grows_with_its_size(n):
    assert model.intensity(n, n, n) == pytest.approx(n / 6)
    assert model.intensity(n, n, n, itemsize=2) == pytest.approx(n / 3)


def test_intensity_of_one_row_is_at_most_two_flops_per_number():
    assert model.intensity(1, 4096, 4096) == pytest.approx(2 / 4, rel=1e-3)


def test_ridge_is_where_memory_and_compute_take_equally_long():
    cost = HERE.costs(flops=HERE.ridge * 8000, moved=8000)
    assert cost["memory"] == pytest.approx(cost["compute"])


@pytest.mark.parametrize(
    ("flops", "moved", "regime"),
    [(1, 8, "overhead"), (1e6, 8e6, "memory"), (1e9, 1e6, "compute")],
)
def test_regime_names_the_largest_cost(flops, moved, regime):
    assert HERE.regime(flops, moved) == regime
    assert HERE.costs(flops, moved)[regime] == max(HERE.costs(flops, moved).values())


@given(st.floats(0, 1e12), st.floats(0, 1e12))
def test_prediction_adds_overhead_to_the_longer_of_the_other_two(flops, moved):
    cost = HERE.costs(flops, moved)
    assert HERE.predict(flops, moved) == pytest.approx(HERE.overhead + max(cost["memory"], cost["compute"]))


@given(st.floats(0, 1e12), st.floats(0, 1e12))
def test_a_queue_hides_the_smaller_of_asking_and_working(flops, moved):
    queued = dataclasses.replace(HERE, queued=True)
    assert queued.predict(flops, moved) == pytest.approx(max(HERE.costs(flops, moved).values()))


@pytest.mark.parametrize(
    ("cache", "memory", "elements"),
    [(2**29, 2**40, 2**29), (2**20, 2**40, 2**27), (2**29, 2**31, 2**26), (0, None, 2**27)],
)
def test_arrays_that_are_uncached_fill_the_caches_eight_times_or_a_quarter_of_the_memory(
    cache, memory, elements, monkeypatch
):
    monkeypatch.setattr(model, "cache_bytes", lambda: cache)
    monkeypatch.setattr(model, "memory_bytes", lambda: memory)
    both = 2 * 4 * model.uncached("cpu")
    assert both == 8 * elements
    assert both >= 8 * cache or both == memory // 4


def test_measured_functions_compute_what_their_names_say():
    assert torch.equal(model.add_one(3, "cpu")(), torch.full((3,), 2.0))
    assert model.multiply(2, 3, 4, "cpu")().shape == (2, 4)


def test_calibration_has_three_quantities_in_their_units():
    parts = model.calibrate("cpu", elements=2**12, n=32, repeats=2)
    assert {name: m.unit for name, m in parts.items()} == {"peak": "FLOP/s", "bandwidth": "B/s", "overhead": "s"}
    assert model.machine(parts, "cpu").overhead == parts["overhead"].median
    assert model.machine(parts, "cuda").queued
