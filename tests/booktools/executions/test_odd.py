"""Odd records: every number of a record is another, what it stands under is not, and a seed makes the same ones."""

from __future__ import annotations

import random
from typing import Any

import nbformat
import pytest

from booktools.source.notebook import glue, read_records
from dlperf.measurement import Measurement
from tests.conftest import ROOT
from tests.odd import CHANGES, odd

RECORDED = sorted((ROOT / "records").glob("*/slow.ipynb"))[-1]


def values(notebook: nbformat.NotebookNode) -> dict[str, Any]:
    """Returns every number that a notebook recorded, a measurement's as its samples."""
    found = {key: record["value"] for key, record in read_records(notebook, "odd").items()}
    return {k: v.samples if isinstance(v, Measurement) else v for k, v in found.items() if not isinstance(v, str)}


@pytest.mark.parametrize("seed", range(5))
def test_numbers_are_replaced_and_keys_are_kept(seed: int) -> None:
    before, after = nbformat.read(RECORDED, as_version=4), odd(RECORDED, seed)
    nbformat.validate(after)
    assert glue(before).keys() == glue(after).keys()
    old, new = values(before), values(after)
    assert old.keys() == new.keys()
    changed = [key for key in old if old[key] != new[key]]
    assert len(changed) > len(old) / 2  # some are scaled by one, or were equal
    assert values(odd(RECORDED, seed)) == new


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_leaves_a_measurement(change: str) -> None:
    samples = [1.0, 2.0, 4.0]
    changed = CHANGES[change](samples, random.Random(2))
    assert changed != samples
    assert Measurement(tuple(changed)).samples
