"""What the chapters on several devices have processes compute, on one, two and four simulated GPUs: as on cores."""

from __future__ import annotations

import pytest

from tests.gpu.conftest import Run

START = """
import torch, sys
from dlperf.multigpu.group import Group, device_of
size = {size}
assert device_of(size - 1, size).type == "cuda"
"""

BY_HAND = """
from dlperf.multigpu import datasets, training
from dlperf.multigpu.scaling import Task
from dlperf.multigpu.reduce import WAYS
from tests.multigpu import reducing, scaled, teaching
data = datasets.digits()
few = datasets.Data(data.images[:40], data.labels[:40], data.test_images[:40], data.test_labels[:40])
task = Task("LeNet", 8)
with Group(size) as group:
    wrong, sums, refusals = zip(*group.run(reducing.everything))
    assert not any(each for rank in wrong for each in rank), wrong
    assert all(torch.equal(one, other) for rank in sums for one, other in zip(rank["ring"], sums[0]["ring"]))
    one = group.run(teaching.by_ddp, few, 24)[0]
    for way in WAYS:
        for rank in group.run(teaching.gradients, few, 24, way):
            for mine, theirs in zip(rank, one):
                torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-6)
    assert all(group.run(teaching.disagree, 0.0)) and (size == 1 or not any(group.run(teaching.disagree, 1e-3)))
    first, *others = group.run(training.train, few, 2, 10)
    assert all(torch.equal(a, b) for each in others for a, b in zip(first.params, each.params))
    assert first.losses[1] < first.losses[0]
    gradients = group.run(scaled.gradient, task, size) if size > 1 else []
with Group(1) as one:
    (right,) = one.run(scaled.gradient, task, 1)
    for found in gradients:
        torch.testing.assert_close(found, right, rtol=1e-3, atol=1e-5)
"""

BY_LIBRARY = """
from dlperf.concise import ddp, observed, sharded, twins
from dlperf.models import gpt, text
task = observed.Task(gpt.Size(len(text.CHARACTERS), context=16, layers=4, heads=4, width=32), batch=4)
ways = [sharded.ddp, sharded.zero_1, sharded.zero_2, sharded.zero_3, sharded.zero_3_ahead, twins.tensor_parallel]
ways += [twins.gpipe, twins.one_forward_one_backward] if size == 2 else []
with Group(size) as group:
    alone = group.run(observed.look, sharded.alone, task)[0]
    for way in ways:
        for seen in group.run(observed.look, way, task):
            assert observed.away(seen.gradient, alone.gradient) < 1e-4, way
"""


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("program", [BY_HAND, BY_LIBRARY], ids=["by hand", "by library"])
def test_every_way_computes_on_gpus_what_it_does_on_cores(run: Run, program: str, size: int) -> None:
    assert not run(START.format(size=size) + program)
