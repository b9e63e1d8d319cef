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


def test_the_first_core_that_is_ours_tells_and_instruction_caches_are_left_out(monkeypatch):
    of = lambda core: [
        Cache(2, "Unified", 2**20 * core, 64, 16, (core,)),
        Cache(1, "Data", 49152, 64, 12, (core,)),
        Cache(1, "Instruction", 32768, 64, 8, (core,)),
    ]
    monkeypatch.setattr(caches, "pinnable_cores", lambda: [3, 1])
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
