"""The random walk: that it visits everything, that its loop is what it says, and when it refuses."""

import mmap
import re
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlperf.hardware import pointer_chase
from dlperf.hardware.probe import Unknown
from tests.assembly import instructions

SMAPS = """\
00001000-00004000 rw-p 00000000 00:00 0
Size:                 12 kB
AnonHugePages:         0 kB
00004000-00008000 rw-p 00000000 00:00 0                          [heap]
Size:                 16 kB
AnonHugePages:      4096 kB
VmFlags: rd wr mr mw me ac sd hg
"""


@given(st.integers(1, 300), st.sampled_from([1, 8, 512]), st.integers(0, 2**62))
def test_the_walk_is_one_cycle_through_every_stop(stops, apart, seed):
    words = np.zeros(stops * apart, np.uint64)
    pointer_chase.random_cycle(words, apart, seed)
    seen, at = set(), 0
    while at not in seen:
        seen.add(at)
        at = int(words[at])
    assert at == 0
    assert seen == set(range(0, stops * apart, apart))


def test_another_seed_is_another_cycle():
    a, b = np.zeros(8000, np.uint64), np.zeros(8000, np.uint64)
    pointer_chase.random_cycle(a, 8, 0)
    pointer_chase.random_cycle(b, 8, 1)
    assert (a != b).any()


def test_chase_ends_where_following_by_hand_ends():
    words = np.zeros(800, np.uint64)
    pointer_chase.random_cycle(words, 8, 0)
    at = 0
    for steps in range(250):
        assert pointer_chase.chase(words, np.uint64(0), steps) == at
        at = int(words[at])


def test_each_load_needs_the_one_before():
    loop = instructions(pointer_chase.chase, np.zeros(8, np.uint64), np.uint64(0), 1)
    # The address of each load is the register that it loads into: nothing can be asked for early.
    assert re.search(r"movq\t\(%(\w+),%(\w+),8\), %\2", loop)
    assert "gather" not in loop


def test_overlapping_blocks_are_refused():
    words = np.zeros(800, np.uint64)
    with pytest.raises(ValueError, match="overlap"):
        pointer_chase.latencies({"all": words, "half": words[:400]})


def test_memory_is_zeroed_and_of_its_size():
    words = pointer_chase.memory(2**16)
    assert words.nbytes == 2**16
    assert not words.any()
    assert words.flags.writeable


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="this system takes no advice about huge pages")
def test_base_pages_are_never_huge():
    assert pointer_chase._huge_bytes(pointer_chase.memory(2**23).ctypes.data) == 0


@pytest.mark.parametrize(("address", "huge"), [(0x1000, 0), (0x3FFF, 0), (0x4000, 2**22), (0x7FFF, 2**22), (0x8000, 0)])
def test_huge_pages_are_those_of_the_mapping_of_an_address(monkeypatch, address, huge):
    monkeypatch.setattr(pointer_chase, "Path", lambda path: SimpleNamespace(read_text=lambda **_: SMAPS))
    assert pointer_chase._huge_bytes(address) == huge


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="this system takes no advice about huge pages")
@pytest.mark.parametrize("size", [2**20, 2**23])
def test_memory_for_huge_pages_that_got_none_is_refused(monkeypatch, size):
    monkeypatch.setattr(pointer_chase, "_huge_bytes", lambda address: 0)
    if size < pointer_chase.PAGES["huge"]:
        assert pointer_chase.memory(size, huge=True).nbytes == size  # too small for even one
    else:
        with pytest.raises(Unknown, match="gave no huge pages"):
            pointer_chase.memory(size, huge=True)


def test_without_advice_there_are_no_huge_pages(monkeypatch):
    monkeypatch.delattr(mmap, "MADV_HUGEPAGE", raising=False)
    assert pointer_chase.memory(4096).nbytes == 4096
    with pytest.raises(Unknown, match="madvise"):
        pointer_chase.memory(4096, huge=True)


@pytest.mark.skipif(not hasattr(mmap, "MADV_HUGEPAGE"), reason="this system takes no advice about huge pages")
def test_a_kernel_without_huge_pages_gives_base_pages(monkeypatch):
    monkeypatch.setattr(mmap, "MADV_NOHUGEPAGE", 10_000)  # no such advice: EINVAL
    monkeypatch.setattr(mmap, "MADV_HUGEPAGE", 10_000)
    assert pointer_chase.memory(4096).nbytes == 4096
    with pytest.raises(Unknown, match="kernel"):
        pointer_chase.memory(4096, huge=True)


def test_sizes_grow_in_whole_lines():
    sizes = pointer_chase.sizes(2**29)
    assert sizes[0] == 4096
    assert sizes[-1] == 2**29
    assert all(a < b and b % pointer_chase.LINE == 0 for a, b in pairwise(sizes))
    assert {2**14, 2**18, 2**26} <= set(sizes)


def test_curves_have_a_point_for_every_size():
    curves = pointer_chase.curves([4096, 8192])
    assert set(curves) <= {"base", "huge"}
    assert [*curves["base"]] == [4096, 8192]
    assert all(m.unit == "s" for m in curves["base"].values())


def test_memory_that_a_cache_may_hold_is_no_main_memory(monkeypatch):
    told = [pointer_chase.caches.Cache(3, "Unified", 96 * 2**20, 64, 16)]
    monkeypatch.setattr(pointer_chase.caches, "reported", lambda: told)
    with pytest.raises(Unknown, match="96 MiB"):
        pointer_chase.dram()


def test_an_l3_cache_as_slow_as_memory_is_not_reported(monkeypatch):
    told = [pointer_chase.caches.Cache(level, "Unified", 2**20, 64, 16) for level in (1, 2, 3)]
    monkeypatch.setattr(pointer_chase.caches, "reported", lambda: told)
    monkeypatch.setattr(pointer_chase, "latency", lambda words: pointer_chase.Measurement((1e-7,)))
    with pytest.raises(Unknown, match="too small"):
        pointer_chase.l3()
