"""Three faults of processes that work together, and what PyTorch says of each."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from unittest import mock

import pytest
import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

from dlperf.concise import diagnosis
from dlperf.concise.diagnosis import Seen
from dlperf.workers import Workers

LONG_S, SHORT_S = 120.0, 1.0
"""For what both ranks do together, and for who waits in vain."""


GLOO: list[distributed_c10d.ProcessGroupGloo] = []
"""In a rank's process: the groups by which checks are made and collectives run. Nothing returns the first."""


def note_groups(rank: int) -> None:
    """Has this process note each pair of groups that are put together, as for ``DETAIL``."""
    pair = distributed_c10d._ProcessGroupWrapper
    distributed_c10d._ProcessGroupWrapper = lambda *both: (GLOO.extend(both), pair(*both))[1]


def one_is_missing(rank: int) -> list[float]:
    """Runs the fault of that name; when its first sum is done, for which both have met, a rank waits for `SHORT_S`."""
    first = dist.all_reduce

    def all_reduce(tensor: torch.Tensor) -> None:
        first(tensor)
        backend = dist.group.WORLD._get_backend(tensor.device)
        for each in [backend] if isinstance(backend, distributed_c10d.ProcessGroupGloo) else GLOO:
            each._set_default_timeout(timedelta(seconds=SHORT_S))

    with mock.patch.object(dist, "all_reduce", all_reduce):
        return diagnosis.one_is_missing(rank)


@pytest.fixture(scope="module")
def ranks() -> Iterator[Workers]:
    with Workers(2) as workers:
        workers.run(note_groups)
        yield workers


@pytest.mark.parametrize(
    ("fault", "differs"), [(diagnosis.unlike_lengths, "3vs 4"), (diagnosis.unlike_calls, "ALLREDUCEvs BROADCAST")]
)
def test_checks_name_both_ranks_and_what_differs(ranks: Workers, fault: object, differs: str) -> None:
    seen = diagnosis.run(ranks, fault, "DETAIL", LONG_S)
    assert all(each.answered == [] for each in seen)
    assert seen[0].said.endswith(differs)
    assert all("Rank 0" in each.said and "Rank 1" in each.said for each in seen)
    assert diagnosis.names_other(*seen)


def test_a_rank_that_never_comes_is_named_by_checks_alone(ranks: Workers) -> None:
    plain, checked = (diagnosis.run(ranks, one_is_missing, level, LONG_S) for level in ("OFF", "DETAIL"))
    assert not diagnosis.names_other(*plain)
    assert "Timed out" in plain[0].said
    assert checked[0].said == "[Rank 0]: Ranks 1 failed to pass monitoredBarrier in 1000 ms"


def test_whoever_has_begun_fewer_collectives_is_missing(ranks: Workers) -> None:
    first, second = diagnosis.run(ranks, one_is_missing, timeout_s=LONG_S)
    assert (first.collectives, second.collectives) == (2, 1)


def test_levels_are_those_of_pytorch(ranks: Workers) -> None:
    with pytest.raises(Exception, match="LOUD"):
        diagnosis.run(ranks, diagnosis.unlike_lengths, "LOUD")


@pytest.mark.parametrize(
    ("errors", "named"),
    [
        (("Rank 1 is late", ""), True),
        (("", "Ranks 0 failed"), True),
        (("Rank 0 is late", "Rank 1 is late"), False),
        (("Rank 10 is late", ""), False),
        (("", ""), False),
    ],
)
def test_a_message_names_the_other_rank_or_not(errors: tuple[str, str], named: bool) -> None:
    assert diagnosis.names_other(*(Seen([], error, 0) for error in errors)) == named


def test_what_a_rank_said_is_its_error_in_short_or_its_answer() -> None:
    assert Seen([2.0, 2.5], "", 1).said == "2 2.5"
    long = "[/a/b/pair.cc:553] Connection closed by peer [127.0.0.1]:38. This is typically caused by a\ncrash."
    assert Seen([], long, 1).said == "Connection closed by peer"
