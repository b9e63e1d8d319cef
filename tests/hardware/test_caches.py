"""Caches: the model against a plain one, what systems report, and steps in curves that we drew ourselves."""

from collections import OrderedDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlperf.hardware import caches, inventory
from dlperf.hardware.inventory import Cache
from dlperf.hardware.probe import Unknown


def _oracle(addresses, writes, line, sets, ways):
    """Counts as `caches.count` does, with a dictionary for each set whose order is that of the last use."""
    held = [OrderedDict() for _ in range(sets)]
    hits = misses = backs = 0
    for address in addresses:
        block = address // line
        places = held[block % sets]
        if block in places:
            hits += 1
            places.move_to_end(block)
        else:
            misses += 1
            if len(places) == ways:
                backs += places.popitem(last=False)[1]
            places[block] = False
        places[block] |= writes
    return hits, misses, backs


@given(
    st.lists(st.integers(0, 4000), min_size=1, max_size=300),
    st.booleans(),
    st.sampled_from([16, 64]),
    st.sampled_from([1, 2, 8]),
    st.sampled_from([1, 2, 5]),
)
def test_the_model_agrees_with_a_plain_one(addresses, writes, line, sets, ways):
    assert caches.count(np.array(addresses), writes, line, sets, ways) == _oracle(addresses, writes, line, sets, ways)


@pytest.mark.parametrize(
    "cache", [Cache(1, "Data", 32 * 1024, 64, 8), Cache(1, "Data", 48 * 1024, 64, 12), Cache(1, "Data", 65536, 64, 4)]
)
def test_what_the_chapter_predicts_is_exact(cache):
    n = 512
    lines = n * n // 8
    held = cache.size // cache.line
    count = {
        case: caches.count(caches.addresses(n, n, *case), True, cache.line, cache.sets, cache.ways)
        for case in [("row", 0), ("column", 0), ("column", 8)]
    }
    assert count["row", 0] == (n * n - lines, lines, lines - held)  # the last lines have not been written back yet
    assert count["column", 0][:2] == (0, n * n)
    assert count["column", 8] == (n * n - lines, lines, lines - held)


def test_reading_alone_writes_nothing_back():
    assert caches.count(caches.addresses(64, 64, "column"), False, 64, 8, 2)[2] == 0


def test_addresses_are_those_of_numpy():
    x = np.zeros((5, 9))[:, :7]
    rows = [x.strides[0] * i + x.strides[1] * j for i in range(5) for j in range(7)]
    columns = [x.strides[0] * i + x.strides[1] * j for j in range(7) for i in range(5)]
    assert caches.addresses(5, 7, "row", padding=2).tolist() == rows
    assert caches.addresses(5, 7, "column", padding=2).tolist() == columns


def test_both_passes_visit_every_element_once():
    x = np.zeros((6, 10))[:, :8]
    caches.by_rows(x)
    caches.by_columns(x)
    assert (x == 2).all()


def test_the_first_core_that_is_ours_tells_and_instruction_caches_are_left_out(monkeypatch):
    of = lambda core: [
        Cache(2, "Unified", 2**20 * core, 64, 16, (core,)),
        Cache(1, "Data", 49152, 64, 12, (core,)),
        Cache(1, "Instruction", 32768, 64, 8, (core,)),
    ]
    monkeypatch.setattr(caches, "places", lambda: [3, 1])
    monkeypatch.setattr(caches, "all_caches", lambda: (*of(1), *of(3)))
    first, second = caches.reported()
    assert (first.level, first.kind, first.sets) == (1, "Data", 64)
    assert (second.size, second.cores) == (3 * 2**20, (3,))


def test_a_system_that_reports_nothing_is_unknown(monkeypatch):
    monkeypatch.setattr(caches, "all_caches", lambda: ())
    with pytest.raises(Unknown, match="reports no caches"):
        caches.reported()


def test_macos_is_read_and_its_fast_cores_are_taken(monkeypatch):
    text = (
        "hw.cachelinesize: 128\nhw.l1dcachesize: 65536\nhw.l2cachesize: 4194304\n"
        "hw.perflevel0.l1dcachesize: 131072\nhw.perflevel0.l2cachesize: 12582912\n"
    )
    told = inventory.caches_of_macos(text)
    assert told == (Cache(1, "Data", 131072, 128), Cache(2, "Unified", 12582912, 128))
    monkeypatch.setattr(caches, "all_caches", lambda: told)
    assert tuple(caches.reported()) == told


def test_a_level_that_is_not_there_is_unknown(monkeypatch):
    monkeypatch.setattr(caches, "reported", lambda: [Cache(1, "Data", 65536, 64)])
    assert caches.level(1).size == 65536
    with pytest.raises(Unknown, match="level 3"):
        caches.level(3)


def test_a_line_is_what_the_system_says_or_64(monkeypatch):
    monkeypatch.setattr(caches, "reported", lambda: [Cache(1, "Data", 131072, 128), Cache(2, "Unified", 12582912, 128)])
    assert (caches.line(), caches.last()) == (128, 12582912)
    monkeypatch.undo()
    monkeypatch.setattr(caches, "all_caches", lambda: ())
    assert (caches.line(), caches.last()) == (64, 0)


def test_padded_and_unpadded_rows_go_through_the_same_loop():
    for run in caches.passes(8).values():
        run()
    assert len(caches.by_rows.signatures) == len(caches.by_columns.signatures) == 1


def test_steps_lie_where_the_curve_doubles():
    sizes = [2**i for i in range(12, 25)]
    curve = [1 if size <= 2**15 else 4 if size <= 2**20 else 100 for size in sizes]
    assert caches.steps(sizes, curve) == pytest.approx([2**15.5, 2 ** (20 + 1 / np.log2(25))])


def test_a_single_slow_point_is_no_step():
    sizes = [2**i for i in range(12, 20)]
    assert caches.steps(sizes, [1, 1, 9, 1, 1, 1.05, 1.1, 1.1]) == []


def test_a_slope_that_does_not_double_is_no_step():
    assert caches.steps([2**i for i in range(12, 18)], [1, 1.2, 1.4, 1.6, 1.6, 1.6]) == []


def test_passes_and_shares_speak_of_the_same_orders():
    assert set(caches.passes(8)) == set(caches.shares(8, Cache(1, "Data", 4096, 64, 2))) == set(caches.ORDERS)
    for run in caches.passes(8).values():
        run()
    predicted = {name: share for name, (_, _, share) in caches.ORDERS.items()}
    assert {name: parts[1] for name, parts in caches.shares(512, Cache(1, "Data", 49152, 64, 12)).items()} == predicted


def test_without_ways_there_is_no_model():
    with pytest.raises(Unknown, match="ways"):
        caches.shares(8, Cache(1, "Data", 131072, 128))
