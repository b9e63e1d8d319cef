"""Products and copies: what overlaps is counted right, and copies are right, in whatever order and memory."""

from __future__ import annotations

import contextlib
import ctypes
import mmap
import sys
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from dlperf import counters
from dlperf.asynchrony.engine import Engine
from dlperf.measurement import Measurement
from dlperf.parallel import compute_and_copy
from dlperf.turns import interleave


@dataclass
class Op:
    name: str
    start: float
    end: float


OPS = st.lists(
    st.builds(
        lambda name, start, length: Op(name, start, start + length),
        st.sampled_from(("product", "copy", "other")),
        st.integers(0, 20),
        st.integers(0, 6),
    ),
    max_size=12,
)


@given(OPS)
def test_overlapped_counts_the_seconds_in_which_both_run(ops: list[Op]) -> None:
    def runs(name: str, second: int) -> bool:
        return any(op.name == name and op.start <= second < op.end for op in ops)

    assert compute_and_copy.overlapped(ops) == sum(runs("product", t) and runs("copy", t) for t in range(30))


def test_bounds_are_taken_pair_by_pair() -> None:
    products, copies = (Measurement(seconds, pairing_id="t") for seconds in ((1.0, 5.0), (3.0, 2.0)))
    low, high = compute_and_copy.bounds(products, copies)
    assert (low.samples, high.samples) == ((3.0, 5.0), (4.0, 7.0))


def test_only_the_published_runs_in_pytorch_are_below_their_bound() -> None:
    below = {name for name, (c, m, both) in compute_and_copy.PUBLISHED.items() if both < max(c, m)}
    assert below == {name for name in compute_and_copy.PUBLISHED if name.startswith("PyTorch")}
    assert all(both < c + m for c, m, both in compute_and_copy.PUBLISHED.values())


def test_both_orders_have_the_same_steps_and_copy_what_is_computed() -> None:
    orders = compute_and_copy.products_first(4), compute_and_copy.each_then_its_copy(4)
    assert sorted(orders[0]) == sorted(orders[1])
    assert all(steps.index(("product", i)) < steps.index(("copy", i)) for steps in orders for i in range(4))


@pytest.mark.parametrize("queues", [1, 2])
@pytest.mark.parametrize("order", [compute_and_copy.products_first, compute_and_copy.each_then_its_copy])
@pytest.mark.parametrize("place", ["copy_new", "copy_kept"])
def test_copies_are_right_and_follow_their_products(queues: int, order: object, place: str) -> None:
    results = compute_and_copy.Results(count=5, n=70, depth=3)
    with Engine(["cpu:0", "cpu:1"]) as engine:
        trial = compute_and_copy.run(engine, results, order(5), getattr(results, place), queues)  # type: ignore[operator]
    ran: dict[str, list[Op]] = {"product": [], "copy": []}
    for op in trial.operations:
        ran[op.name].append(op)
    for i, copy in enumerate(results.copies):
        torch.testing.assert_close(copy, results.left[i] @ results.right)
        assert ran["copy"][i].start >= ran["product"][i].end
        assert copy is not results.products[i]
    assert len({op.device for op in trial.operations}) == queues
    if queues == 1:
        assert trial.overlap == 0


@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep or share pages in their own ways")
def test_new_memory_costs_pages_and_kept_memory_does_not() -> None:
    results = compute_and_copy.Results(count=1)
    steps = [("copy", 0)]
    with Engine(["cpu"]) as engine, compute_and_copy.small_pages():
        new = compute_and_copy.run(engine, results, steps, results.copy_new)
        # other threads of this process, and a system that moves pages about, add to some counts
        kept = min(compute_and_copy.run(engine, results, steps, results.copy_kept).pages for _ in range(12))
    assert kept < new.pages / 2


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux is asked")
def test_new_memory_comes_in_small_pages_even_when_huge_ones_are_asked_for() -> None:
    size, page = 2**26, mmap.PAGESIZE
    with compute_and_copy.small_pages(), mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        with contextlib.suppress(OSError):  # a system without huge pages
            memory.madvise(mmap.MADV_HUGEPAGE)
        before = counters.pages()
        memory[::page] = bytes(size // page)
        assert counters.pages() - before > size // page / 2
    assert ctypes.CDLL(None).prctl(42, 0, 0, 0, 0) == 0  # PR_GET_THP_DISABLE


def test_variants_take_turns_and_the_first_turn_does_not_count() -> None:
    calls: list[str] = []

    def variant(name: str) -> compute_and_copy.Trial:
        calls.append(name)
        return compute_and_copy.Trial(len(calls), 7, ())

    trials = interleave({name: lambda name=name: variant(name) for name in "ab"}, 2)
    assert "".join(calls) == "ababab"
    assert compute_and_copy.measured(trials["b"]).samples == (4.0, 6.0)
    assert compute_and_copy.measured(trials["a"], "pages").unit == "1"
    assert compute_and_copy.measured(trials["a"]).environment["device"].startswith("CPU")
    assert compute_and_copy.typical([compute_and_copy.Trial(s, 0, (s,)) for s in (3, 1, 2)]) == (2,)


def test_hidden_is_a_share_of_the_shorter_side() -> None:
    ops = [Op("product", 0, 4), Op("product", 4, 8), Op("copy", 4, 6), Op("copy", 8, 10)]
    assert compute_and_copy.Trial(10, 0, ops).hidden == 0.5
