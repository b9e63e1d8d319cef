"""Memory that is kept is not asked for again."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from dlperf.compilers import allocation

PAGE = 4096


KEPT = """
import torch
from dlperf.compilers.allocation import kept_memory
from dlperf.counters import page_faults
from dlperf.parallel.compute_and_copy import small_pages
fn = lambda: torch.ones(2**25)
with small_pages():
    new = page_faults(fn)
    with kept_memory() as told:
        kept = min(page_faults(fn) for _ in range(12))  # the first of them have to fill it
print(int(told), new, kept)
"""


def fresh(program: str, **environment: str) -> list[float]:
    """Returns the numbers that a program prints in a process of its own: memory that is kept stays for what follows."""
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | environment, capture_output=True, text=True, check=True
    )
    return [float(word) for word in done.stdout.split()]


@pytest.mark.skipif(sys.platform != "linux", reason="page faults are counted as Linux does")
def test_new_memory_has_to_be_provided_and_kept_memory_has_not() -> None:
    told, new, kept = fresh(KEPT)
    if not told:
        pytest.skip("the C library is not glibc")
    assert kept < 0.01 * 2**27 / PAGE < new


def test_what_has_no_name_is_gone_at_once() -> None:
    x = torch.ones(100)
    assert allocation.peak_bytes(lambda: ((x + 1) * 2).exp()) == 2 * x.nbytes
    assert allocation.peak_bytes(lambda: [x + 1, x + 2, x.view(10, 10)]) == 2 * x.nbytes


FAULTS = """
import torch
from dlperf.counters import page_faults
from dlperf.parallel.compute_and_copy import small_pages
fn = lambda: torch.ones(2**23)
with small_pages():
    print(min(page_faults(fn) for _ in range(12)))  # the first of them have to fill it
"""


@pytest.mark.skipif(sys.platform != "linux", reason="page faults are counted as Linux does")
def test_the_setting_that_the_page_tells_keeps_memory_too() -> None:
    if not allocation._tell_malloc(allocation.AS_BEFORE):
        pytest.skip("the C library is not glibc")
    (new,), (kept,) = fresh(FAULTS), fresh(FAULTS, MALLOC_TRIM_THRESHOLD_="-1", MALLOC_MMAP_MAX_="0")
    assert kept < 0.01 * 2**25 / PAGE < new
