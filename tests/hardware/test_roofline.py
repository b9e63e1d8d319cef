"""Operations under the roofline: their arithmetic and bytes by formula, against PyTorch's counter and their tensors."""

from __future__ import annotations

import time

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from dlperf import counters
from dlperf.hardware import page_faults, roofline
from dlperf.hardware.probe import Unknown
from dlperf.measurement import Measurement


def counted(operation: roofline.Operation) -> int:
    with FlopCounterMode(display=False) as counter:
        operation.run()
    return counter.get_total_flops()


@pytest.mark.parametrize("shape", [(8, 16, 4), (1, 32, 8), (64, 3, 64)])
def test_flops_of_products(shape: tuple[int, int, int]) -> None:
    (product,) = roofline.products("cpu", {"product": shape})
    assert product.flops == counted(product)


def test_flops_of_a_convolution() -> None:
    convolution = roofline.convolution("cpu", images=2, channels=4, side=6)
    assert convolution.flops == counted(convolution)
    assert convolution.moved == 4 * (2 * 2 * 4 * 6 * 6 + 4 * 4 * 9)


def test_elementwise_operations_compute_on_every_element(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roofline, "elements", lambda device: 64)
    ops = {op.name: op for op in roofline.elementwise("cpu", width=16)}
    assert ops["add"].flops == ops["add, new memory"].flops == 64
    assert ops["add"].moved == 12 * 64
    assert ops["summation"].intensity == 0.25
    assert ops["layer norm, new memory"].intensity == 1
    ones = torch.ones(4, 16)
    assert torch.equal(ops["add, new memory"].run(), ones + ones)
    assert torch.allclose(ops["softmax"].run(), ones / 16)
    assert torch.allclose(ops["gelu"].run(), torch.nn.functional.gelu(ones))


def test_what_gives_the_bandwidth_counts_what_must_move(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roofline, "elements", lambda device: 8)
    read, copy, triad = roofline.movers("cpu")
    assert read.run() == 8
    assert torch.equal(copy.run(), torch.ones(8))
    assert torch.equal(triad.run(), torch.full((8,), 4.0))
    assert [op.moved / 8 for op in (read, copy, triad)] == [4, 8, 12]


def test_what_memory_bounds_fits_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roofline, "elements", lambda device: 2**18)
    ops = {op.name: op for op in roofline.operations("cpu")}
    for name in ("product, one row", "product, 16 rows", "product, thin"):
        assert ops[name].moved >= 4 * 2**18
    assert ops["product, one row"].flops == counted(ops["product, one row"])


def test_operations_are_timed_in_turn_by_their_names() -> None:
    """After a first call that does not count, each sample is the quickest of three."""
    ran: list[str] = []
    sleeps = {"long": 0.002, "short": 0.001}
    ops = [roofline.Operation(n, 1, 1, lambda n=n, s=s: ran.append(n) or time.sleep(s)) for n, s in sleeps.items()]
    found = roofline.measured(ops, "cpu", repeats=2)
    assert ran == ["long", "short", *(["long"] * 3 + ["short"] * 3) * 2]
    assert {name: (m.unit, len(m.samples)) for name, m in found.items()} == dict.fromkeys(sleeps, ("s", 2))
    assert all(min(m.samples) >= sleeps[name] for name, m in found.items())  # to sleep for less is impossible


def test_a_share_is_the_measured_rate_over_the_roof() -> None:
    roof = roofline.Roof(peak=8e9, bandwidth=1e9)
    op = roofline.Operation("x", flops=4e9, moved=1e9, run=lambda: None)
    assert (roof.ridge, roof.rate(4), roof.rate(100)) == (8, 4e9, 8e9)
    assert [roof.bound(i) for i in (op.intensity, 8)] == ["memory", "compute"]
    assert op.share(Measurement((2.0,), "s"), roof).median == pytest.approx(0.5)


def test_arrays_are_larger_than_the_caches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roofline, "memory_bytes", lambda: 2**40)
    monkeypatch.setattr(roofline, "cache_bytes", lambda: 2**30)
    assert roofline.elements("cpu") * 4 == 2 * 2**30
    monkeypatch.setattr(roofline, "memory_bytes", lambda: 2**32)
    assert roofline.elements("cpu") * 4 <= 2**32 // 16


def test_large_pages_are_refused_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_faults.sys, "platform", "darwin")
    with pytest.raises(Unknown, match="Linux"):
        page_faults.price_with_large_pages()


@pytest.mark.skipif(counters.resource is None, reason="the system does not tell")
def test_new_memory_is_found_page_by_page() -> None:
    kept = torch.ones(2**20)
    assert counters.page_faults(lambda: kept.add_(1)) < 10
