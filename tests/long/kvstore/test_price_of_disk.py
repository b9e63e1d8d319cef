"""What it costs that an acknowledgement waits for the disk. The milliseconds of a push are printed."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import pytest
import torch

from dlperf.kvstore import Store, connect, local
from dlperf.measurement import Measurement
from dlperf.turns import interleave

WAYS: dict[str, dict[str, Any]] = {
    "in memory": {},
    "the system has it": {"sync": "system"},
    "the disk has it": {"sync": "always"},
}
SIZES = (64, 4_000_000)
PUSHES, TURNS = 50, 5


def seconds(store: Store, value: torch.Tensor) -> float:
    """Returns the seconds of a push, each begun when the one before counts."""
    start = perf_counter()
    for _ in range(PUSHES):
        store.push("k", value)
    return (perf_counter() - start) / PUSHES


@pytest.mark.parametrize("size", SIZES)
def test_every_push_counts_however_it_is_kept(size: int, tmp_path: Path) -> None:
    with ExitStack() as open_:
        stores: dict[str, Store] = {}
        for way, options in WAYS.items():
            folder = tmp_path / way
            folder.mkdir()
            disk = {"disk": str(folder)} if options else {}
            config = local.config(1, 1, staleness=None, **disk, **options)
            open_.enter_context(local.Cluster(config))
            stores[way] = open_.enter_context(connect(config, 0))
            stores[way].create("k", torch.zeros(size // 4))
        ones = torch.ones(size // 4)
        found = interleave({way: partial(seconds, store, ones) for way, store in stores.items()}, TURNS)
        for way, store in stores.items():
            taken = Measurement(tuple(found[way]), "s")
            print(f"{size} bytes, {way}: {taken}")
            counted = store.pull("k")
            assert counted.equal(torch.full_like(counted, PUSHES * (TURNS + 1)))  # one turn warms up
