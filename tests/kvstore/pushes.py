"""Pushes to several stores in turn: how long each takes, and that all count."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from time import perf_counter

import torch

from dlperf.kvstore import Store
from dlperf.measurement import Measurement
from dlperf.turns import interleave


def seconds(store: Store, value: torch.Tensor, pushes: int) -> float:
    """Returns the seconds of a push, each begun when the one before counts."""
    start = perf_counter()
    for _ in range(pushes):
        store.push("pushed", value)
    return (perf_counter() - start) / pushes


def counted(stores: Mapping[str, Store], size: int, pushes: int, turns: int) -> dict[str, Measurement]:
    """Returns the seconds of a push of ``size`` bytes to each store, in turn; fails where one did not count."""
    for store in stores.values():
        store.create("pushed", torch.zeros(size // 4))
    ones = torch.ones(size // 4)
    found = interleave({way: partial(seconds, store, ones, pushes) for way, store in stores.items()}, turns)
    for store in stores.values():
        value = store.pull("pushed")
        assert value.equal(torch.full_like(value, pushes * (turns + 1)))  # one turn warms up
    return {way: Measurement(tuple(found[way]), "s") for way in stores}
