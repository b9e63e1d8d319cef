"""Who is a worker, by the scheduler: the process that came last, until it leaves."""

from __future__ import annotations

from pathlib import Path

import pytest

from dlperf.kvstore import peers, wire
from dlperf.kvstore.scheduler import remembered
from dlperf.kvstore.scheduling import Remembered, Scheduler
from tests.kvstore.simulated import config


def beat(scheduler: Scheduler, run: int, leaving: bool = False) -> object:
    return scheduler.handle(peers.Beat("worker", 0, run, 0, 0, (), leaving), 1.0)


def report(
    scheduler: Scheduler, server: int, run: int, holds: tuple[tuple[int, int], ...] = (), now: float = 0.0
) -> object:
    return scheduler.handle(peers.Beat("server", server, run, scheduler.view.epoch, 0, holds), now)


def begun() -> Scheduler:
    """Returns a scheduler of one server and two workers, which has heard of the server."""
    scheduler = Scheduler(config(1, 2), lambda _: None, 0.0)
    scheduler.handle(peers.Beat("server", 0, 99, 0, 0), 0.0)
    return scheduler


def test_a_process_that_was_replaced_hears_of_no_later_view() -> None:
    """In which it would find how often its successor has come, and take that for its own."""
    scheduler = begun()
    beat(scheduler, 7)
    assert not scheduler.is_former(7)
    heard = beat(scheduler, 8)
    assert isinstance(heard, peers.Heard)
    assert heard.view is not None
    assert heard.view.workers == (2, 0)
    assert scheduler.is_former(7)
    assert beat(scheduler, 7) == peers.Unwelcome("another process is worker 0 now")


def test_who_has_left_is_not_brought_back_by_what_it_sent_before() -> None:
    scheduler = begun()
    beat(scheduler, 7)
    heard = beat(scheduler, 7, leaving=True)
    assert isinstance(heard, peers.Heard)
    assert heard.view is not None
    assert heard.view.dropped == (0,)
    beat(scheduler, 7)
    assert scheduler.view.dropped == (0,)
    beat(scheduler, 8)
    assert scheduler.view.dropped == ()


def test_a_scheduler_without_its_file_sends_nobody_away() -> None:
    """What servers have in memory alone would end with them."""
    new = Scheduler(config(1, 2), lambda _: None, 0.0)
    assert new.handle(peers.Beat("server", 0, 99, 5, 0, ((0, 5),)), 0.0) is None
    assert new.handle(peers.Beat("worker", 0, 7, 5, 0), 0.0) is None
    assert new.view.epoch == 0
    assert "worker 0 is in epoch 5 of a cluster of which this scheduler has no file" in new.forgot


def test_a_server_that_reports_late_to_a_scheduler_that_came_back_is_welcome() -> None:
    """It was paused or slow, not replaced; to send it away would be a fault that nobody made."""
    kept: list[Remembered] = []
    first = Scheduler(config(2, 1), kept.append, 0.0)
    report(first, 0, run=10)
    report(first, 1, run=11)
    again = Scheduler(config(2, 1), kept.append, 0.0, kept[-1])
    report(again, 0, run=10, holds=((0, 5), (1, 5)), now=again.config.dead)
    assert again.tick(again.config.dead + 0.1)
    assert again.view.runs == (10, 0)
    assert isinstance(report(again, 1, run=11, holds=((0, 5), (1, 5))), peers.Heard)
    assert again.view.runs == (10, 11)


def test_one_that_was_started_anew_meanwhile_sends_its_former_process_away() -> None:
    kept: list[Remembered] = []
    first = Scheduler(config(2, 1), kept.append, 0.0)
    report(first, 0, run=10)
    report(first, 1, run=11)
    again = Scheduler(config(2, 1), kept.append, 0.0, kept[-1])
    report(again, 0, run=10, holds=((0, 5), (1, 5)))
    report(again, 1, run=12)
    assert again.view.runs == (10, 12)
    assert report(again, 1, run=11) == peers.Unwelcome("another process is server 1 now")


def test_a_former_process_that_reports_before_its_successor_is_sent_away_again() -> None:
    """To a scheduler that came back, and had been told of both."""
    kept: list[Remembered] = []
    first = Scheduler(config(2, 1), kept.append, 0.0)
    report(first, 0, run=10)
    report(first, 1, run=11)
    assert first.tick(first.config.dead + 0.1)
    report(first, 1, run=12, now=first.config.dead + 0.2)
    again = Scheduler(config(2, 1), kept.append, 0.0, kept[-1])
    assert report(again, 1, run=11) == peers.Unwelcome("another process is server 1 now")
    report(again, 1, run=12)
    report(again, 0, run=10)
    assert again.view.runs == (10, 12)


def test_a_file_that_is_damaged_or_of_another_cluster_is_named_with_what_to_do(tmp_path: Path) -> None:
    file, told = tmp_path / "scheduler", config(1, 2)
    file.write_bytes(wire.encode(begun().state))
    assert remembered(file, told) == begun().state
    with pytest.raises(ValueError, match=r"scheduler is of 1 servers and 2 workers, and .* has 1 and 3: start with"):
        remembered(file, config(1, 3))
    file.write_bytes(file.read_bytes()[:-3])
    with pytest.raises(ValueError, match=r"scheduler is damaged, .*: without it nobody knows"):
        remembered(file, told)
