"""What PyTorch tells of ranks that disagree, lag or never come, and how its messages are shortened."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dlperf.concise import diagnosis
from dlperf.concise.diagnosis import Entry, Seen
from dlperf.workers import Workers


@pytest.fixture(scope="module")
def ranks() -> Iterator[Workers]:
    patch = pytest.MonkeyPatch()
    patch.setenv("TORCH_FR_BUFFER_SIZE", "100")
    with patch.context(), Workers(2) as workers:
        yield workers
    patch.undo()


def test_detail_names_both_shapes(ranks: Workers) -> None:
    for seen in diagnosis.run(ranks, diagnosis.different_shapes, "DETAIL"):
        assert "TensorShape=[3]" in seen.error
        assert "TensorShape=[4]" in seen.error


def test_detail_names_both_operations(ranks: Workers) -> None:
    for seen in diagnosis.run(ranks, diagnosis.different_operations, "DETAIL"):
        assert "ALLREDUCE" in seen.error
        assert "BROADCAST" in seen.error


def test_without_detail_nobody_learns_of_another_shape(ranks: Workers) -> None:
    assert not any("shape" in seen.error.lower() for seen in diagnosis.run(ranks, diagnosis.different_shapes))


def test_the_recorder_names_who_is_late_and_who_never_comes(ranks: Workers) -> None:
    seen = diagnosis.run(ranks, diagnosis.one_never_comes)
    assert "Timed out" in seen[0].error
    assert [entry.number for entry in diagnosis.last_entries(seen)] == [4, 3]
    late = diagnosis.lateness(seen)
    assert len(late[0]) == len(late[1]) == 3
    assert sum(late[1]) > sum(late[0])


def test_the_barrier_names_who_is_missing(ranks: Workers) -> None:
    assert "Rank 1 failed to pass monitoredBarrier" in diagnosis.run(ranks, diagnosis.barrier_first)[0].error


def test_lateness_counts_from_the_first_of_the_collectives_that_all_began() -> None:
    begun = lambda *moments: Seen(None, "", 0, [Entry(n, "", [], at) for n, at in enumerate(moments, 1)])
    assert diagnosis.lateness([begun(1.0, 2.5, 4.0), begun(1.5, 2.0)]) == {0: [0.0, 0.5], 1: [0.5, 0.0]}


def test_a_shortened_message_keeps_who_what_and_how_large() -> None:
    tensors = "TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float (default), device=cpu)))"
    finger = "CollectiveFingerPrint(SequenceNumber=0, OpType=ALLREDUCE, TensorShape=[{}], " + tensors
    message = (
        "Detected mismatch between collectives on ranks. Rank 0 is running collective: "
        + finger.format(3)
        + ", but Rank 1 is running collective: "
        + finger.format(4)
        + ".Collectives differ in the following aspects: \t Tensor shapes: 3vs 4"
    )
    assert diagnosis.shortened(message) == [
        "Detected mismatch between collectives on ranks.",
        "Rank 0 is running collective: ALLREDUCE, TensorShape=[3], TensorDtypes=Float",
        "Rank 1 is running collective: ALLREDUCE, TensorShape=[4], TensorDtypes=Float",
        "Collectives differ in the following aspects: Tensor shapes: 3vs 4",
    ]


def test_a_shortened_message_has_no_path_and_no_port() -> None:
    message = "[/__w/gloo/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:3499. This is typically caused by it."
    assert diagnosis.shortened(message) == ["pair.cc: Connection closed by peer"]
