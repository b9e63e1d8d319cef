"""PyTorch's own splits: the gradients of one device, and the bytes of what the chapter before did by hand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

from dlperf.concise import twins
from dlperf.multigpu import split_costs, splits, traffic
from dlperf.multigpu.group import Crew, hosts
from dlperf.multigpu.split_trials import EXACT
from dlperf.multigpu.splits import Case, Strategy
from tests.multigpu.summing import sent

CASES = [replace(case, sizes=EXACT) for case in twins.CASES]


@pytest.fixture(scope="module")
def pair() -> Iterator[Crew]:
    with hosts(2) as crew:
        yield crew


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.key)
def test_gradients_are_those_of_one_device(pair: Crew, case: Case) -> None:
    _, *right = splits.step(EXACT.tensors(), EXACT.rows)
    parts = pair.run(twins.gradients, case)
    found = parts[0] if case.strategy is Strategy.LAYER else [each for part in parts for each in part]
    for mine, whole in zip(found, right, strict=True):
        torch.testing.assert_close(mine, whole, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("case", twins.CASES, ids=lambda case: case.key)
def test_they_send_what_was_sent_by_hand(pair: Crew, case: Case) -> None:
    if pair.kind != "host":
        pytest.skip(f"only hosts count what they send; these devices are of the kind {pair.kind!r}")
    before = pair.run(sent)
    found = twins.bytes_over_formula(pair, case)
    beside = max(now.since(then).beside for now, then in zip(pair.run(sent), before, strict=True))
    assert 0.98 <= found <= 1.01 + beside / traffic.on_wire(split_costs.predicted_bytes(case))


def test_by_data_there_is_no_other_twin_than_ddp(pair: Crew) -> None:
    with pytest.raises(ValueError, match="DistributedDataParallel"):
        twins._step(0, 2, Case(Strategy.DATA, EXACT))
    with pytest.raises(ValueError, match="two stages, for two devices; got 3"):
        twins._step(0, 3, CASES[1])
