"""DistributedDataParallel, and what it is told, in real processes: PyTorch's own gradients are the oracle."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch.nn.parallel import DistributedDataParallel

from dlperf.concise import buckets, ddp, hooks
from dlperf.concise.hooks import Setup
from dlperf.multigpu.group import Group


@pytest.fixture(scope="module")
def pair() -> Iterator[Group]:
    with Group(2) as made:
        yield made


def test_ddp_has_the_gradient_of_by_hand_and_of_the_whole_batch(pair: Group) -> None:
    for found in pair.run(ddp.differences, "GPT", 1):
        assert found["by hand"] < 1e-6
        assert found["whole batch"] < 1e-6


def test_batch_norm_makes_a_part_of_the_batch_another_thing(pair: Group) -> None:
    for found in pair.run(ddp.differences, "ResNet-18", 1):
        assert found["by hand"] < 1e-6
        assert found["whole batch"] > 1e-3


def test_accumulated_gradients_are_those_of_the_batch_and_bfloat16_rounds_them(pair: Group) -> None:
    for found in pair.run(hooks.errors, 2, 2):
        assert found["accumulated"] < 1e-6
        assert 0 < found["bf16"] < 0.02


def test_three_lines_train_and_share_the_examples(pair: Group) -> None:
    first, second = pair.run(ddp.train, 16, 2)
    assert len(first) == len(second) == 2 * 16 / 2 / 4
    assert first != second
    assert first[-1] < first[0]


def test_ddp_names_the_parameters_without_a_gradient_a_step_late(pair: Group) -> None:
    assert pair.run(ddp.complaint) == [(2, ["spare.weight", "spare.bias"])] * 2


def test_views_save_the_memory_of_the_buckets(pair: Group) -> None:
    for gradients, held in pair.run(buckets.memory, False):
        assert held == 2 * gradients
    for gradients, held in pair.run(buckets.memory, True):
        assert held == gradients


@pytest.mark.parametrize("mib", [None, 0.5, 4.0, 100.0])
def test_ddp_fills_the_buckets_that_were_predicted(pair: Group, mib: float | None) -> None:
    alone = pair.run(hooks.step, Setup(batch=1, way="alone"))[0]
    limits = (buckets.DEFAULT, buckets.FIRST) if mib is None else (mib * buckets.MIB, None)
    for seen in pair.run(hooks.step, Setup(batch=1, bucket_mib=mib)):
        assert seen.sizes == buckets.fill(alone.weighs, *limits)
        assert len(seen.sent) == len(seen.arrived) == len(seen.sizes)
        assert seen.begin < seen.sent[0] < seen.end
    pair.run(hooks.forget)


def test_pieces_are_sent_once_each_or_once_for_all_and_as_half_the_bytes(pair: Group) -> None:
    sent = {}
    for way, pieces in (("alone", 2), ("DDP", 1), ("DDP", 2), ("each", 2), ("bf16", 1)):
        sent[way, pieces] = sum(pair.run(hooks.step, Setup("GPT", 1, way, pieces=pieces))[0].sizes)
    once = sent["DDP", 1]
    assert sent == {("alone", 2): 0, ("DDP", 1): once, ("DDP", 2): once, ("each", 2): 2 * once, ("bf16", 1): once // 2}


def test_a_lent_process_has_one_example(pair: Group) -> None:
    assert pair.run(examples, Setup("GPT", 3, "alone")) == [3, 1]


def examples(rank: int, size: int, setup: Setup) -> int:
    return len(hooks._Replica(rank, size, setup).parts[0][0])


def test_steps_are_timed_in_every_way(pair: Group) -> None:
    for way in ddp.WAYS:
        assert all(s > 0 for s in pair.run(ddp.seconds, "GPT", way, 1))


def test_ways_that_there_are_not_are_refused() -> None:
    with pytest.raises(ValueError, match="backwards"):
        ddp.seconds(0, 1, "GPT", "backwards")
    with pytest.raises(ValueError, match="backwards"):
        hooks._Replica(0, 1, Setup(way="backwards"))


def test_the_hook_is_one_that_ddp_takes() -> None:
    DistributedDataParallel._check_comm_hook(None, hooks.bf16)  # type: ignore[arg-type]
    assert hooks.bf16.__annotations__["return"] == torch.futures.Future[torch.Tensor]
