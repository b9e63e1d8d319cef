"""What it costs that an acknowledgement waits for the disk. The milliseconds of a push are printed."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from dlperf.kvstore import Store, connect, local
from tests.kvstore.pushes import counted

WAYS: dict[str, dict[str, Any]] = {
    "in memory": {},
    "the system has it": {"sync": "system"},
    "the disk has it": {"sync": "always"},
}
SIZES = (64, 4_000_000)
PUSHES, TURNS = 50, 5


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
        for way, taken in counted(stores, size, PUSHES, TURNS).items():
            print(f"{size} bytes, {way}: {taken}")
