"""How a worker numbers what it sends, and whose answers it believes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from dlperf.kvstore import wire
from dlperf.kvstore.client import AGAIN, OVERDUE, SOON, STREAMS, WINDOW, Client, Ticket
from dlperf.kvstore.errors import Lost, Refused, Unreachable
from dlperf.kvstore.membership import begin, empty, worker_came
from dlperf.kvstore.wire import REMEMBERED


class Worker:
    """A client of one server, whose messages are noted."""

    def __init__(self, patience: float = 10.0) -> None:
        self.sent: list[Any] = []
        self.asked = 0
        self.client = Client(0, 1, 1, lambda _, message, frames: self.sent.append(message), self.ask, patience)
        view = worker_came(begin(msgspec.structs.replace(empty(1, 1), runs=(7,)), 1), 0, 1)
        self.client.install(view, 0.0)

    def ask(self) -> None:
        self.asked += 1

    def push(self) -> Ticket:
        ticket = Ticket(wire.Push(0, 0, 0, 0, 0, "k", 0), [b""])
        self.client.submit(ticket, 0.0)
        return ticket

    def hear(self, message: wire.Message, now: float = 0.0) -> None:
        self.client.receive([wire.encode(message)], now)

    def done(self, number: int, stream: int = 0, clock: int = 0, now: float = 0.0) -> None:
        self.hear(wire.Done(0, STREAMS + stream, number, clock), now)

    def refuse(self, number: int, reason: Any, expected: int = 0, now: float = 0.0) -> None:
        self.hear(wire.Refusal(0, STREAMS, number, False, reason, "no", expected), now)


def test_so_many_are_under_way_and_the_next_when_one_is_done() -> None:
    worker = Worker()
    tickets = [worker.push() for _ in range(WINDOW + 3)]
    assert [m.number for m in worker.sent] == list(range(1, WINDOW + 1))
    worker.done(2)
    assert worker.sent[-1].number == WINDOW + 1
    assert [t.done for t in tickets[:3]] == [False, True, False]


def test_behind_one_that_was_refused_others_go_on_since_its_number_is_taken() -> None:
    worker = Worker()
    before, wrong, after = worker.push(), worker.push(), worker.push()
    worker.refuse(2, "other shape")
    assert isinstance(wrong.error, Refused)
    worker.done(1)
    worker.done(3)
    assert (before.done, before.error, after.done, after.error) == (True, None, True, None)
    worker.push()
    assert [m.number for m in worker.sent] == [1, 2, 3, 4]


def test_no_operation_is_under_way_so_far_back_that_its_refusal_is_forgotten() -> None:
    worker = Worker()
    first = worker.push()
    for number in range(2, REMEMBERED + 10):
        worker.push()
        worker.done(number)
    assert len(worker.sent) == REMEMBERED
    worker.done(1)
    assert first.done
    assert len(worker.sent) > REMEMBERED


def test_what_is_not_answered_is_sent_again_with_the_same_number() -> None:
    worker = Worker()
    worker.push()
    worker.client.nudge(AGAIN / 2)
    assert len(worker.sent) == 1
    worker.client.nudge(AGAIN)
    assert worker.sent[1] == worker.sent[0]


def test_while_others_on_its_range_are_answered_a_request_waits_but_not_for_ever() -> None:
    worker = Worker(patience=10 * OVERDUE)
    worker.push()
    moment, number = 0.0, 1
    while moment + AGAIN / 2 < OVERDUE:
        moment, number = moment + AGAIN / 2, number + 1
        worker.push()
        worker.done(number, now=moment)
        worker.client.nudge(moment)
        assert [m.number for m in worker.sent] == list(range(1, number + 1))
    worker.client.nudge(OVERDUE)
    assert worker.sent[-1].number == 1
    worker.client.nudge(OVERDUE + 2 * AGAIN)
    assert [m.number for m in worker.sent[-2:]] == [1, 1]  # nothing was answered any more


def test_what_came_too_early_is_sent_again_soon_whatever_else_is_answered() -> None:
    worker = Worker()
    worker.push()
    worker.push()
    worker.refuse(2, "not ready", now=AGAIN)
    worker.done(1, now=AGAIN)
    worker.client.nudge(AGAIN)
    assert [m.number for m in worker.sent] == [1, 2]
    worker.client.nudge(AGAIN + SOON)
    assert [m.number for m in worker.sent] == [1, 2, 2]


def test_after_a_gap_all_from_there_on_are_sent_again() -> None:
    worker = Worker()
    for _ in range(4):
        worker.push()
    worker.refuse(4, "gap", expected=2, now=1.0)
    assert [m.number for m in worker.sent] == [1, 2, 3, 4, 2, 3, 4]


def test_an_older_epoch_has_the_scheduler_asked_and_a_newer_view_all_sent_again() -> None:
    worker = Worker()
    worker.push()
    worker.refuse(1, "epoch", expected=9)
    assert worker.asked == 1
    worker.client.install(msgspec.structs.replace(worker.client.view, epoch=9), 1.0)
    assert worker.sent[-1].epoch == 9


def test_patience_ends_and_says_what_was_waited_for() -> None:
    worker = Worker(patience=10.0)
    ticket = worker.push()
    worker.hear(wire.Waiting(0, STREAMS, 1, 1, (3,)))
    worker.client.nudge(10.5)
    assert isinstance(ticket.error, Unreachable)
    assert "worker 3 has not come so far in 10 s. Whether it counts is not known." in str(ticket.error)
    other = worker.push()
    worker.client.nudge(30.0)
    with pytest.raises(Unreachable, match=r"no answer in 10 s; the range's servers are \[0\]"):
        raise other.error or AssertionError


def test_a_range_that_is_lost_is_said_to_be() -> None:
    worker = Worker()
    ticket = worker.push()
    worker.client.install(msgspec.structs.replace(worker.client.view, epoch=9, chains=((),)), 1.0)
    assert isinstance(ticket.error, Lost)


def test_a_server_says_how_many_rounds_the_worker_has_ended() -> None:
    worker = Worker()
    ticket = Ticket(wire.Tick(0, 0, 0, 0, 0, 1), ())
    worker.client.submit(ticket, 0.0)
    worker.done(1, clock=19)
    assert ticket.clock == 19


def test_with_what_is_given_up_ends_what_was_sent_behind_it_for_both_may_have_been_applied() -> None:
    worker = Worker(patience=10.0)
    given_up = worker.push()
    behind = Ticket(wire.Push(0, 0, 0, 0, 0, "k", 0), [b""])
    worker.client.submit(behind, 5.0)
    worker.client.nudge(10.5)  # a server may have applied both, and their answers be lost
    assert isinstance(given_up.error, Unreachable)
    assert isinstance(behind.error, Unreachable)
    assert {(m.incarnation, m.number) for m in worker.sent} == {(STREAMS, 1), (STREAMS, 2)}
    worker.push()
    assert (worker.sent[-1].incarnation, worker.sent[-1].number) == (STREAMS + 1, 1)


def test_a_round_that_cannot_be_waited_for_counts_and_others_go_on() -> None:
    worker = Worker()
    tick, behind = Ticket(wire.Tick(0, 0, 0, 0, 0, 1), []), Ticket(wire.Push(0, 0, 0, 0, 0, "k", 0), [b""])
    for ticket in (tick, behind):
        worker.client.submit(ticket, 0.0)
    worker.refuse(1, "lost")
    assert isinstance(tick.error, Lost)
    worker.done(2)
    assert behind.error is None
    assert len(worker.sent) == 2


def test_behind_one_that_was_given_up_nothing_is_sent_again_and_the_next_begins_anew() -> None:
    worker = Worker(patience=10.0)
    first, second = worker.push(), worker.push()
    worker.client.nudge(10.5)
    assert isinstance(first.error, Unreachable)
    assert isinstance(second.error, Unreachable)
    worker.push()
    assert (worker.sent[-1].incarnation, worker.sent[-1].number) == (STREAMS + 1, 1)
    worker.done(1, stream=0)  # an answer that was on its way for long, to the operation that had this number
    assert worker.client.lanes[0].under_way


def test_what_was_never_sent_is_given_up_alone() -> None:
    worker = Worker(patience=10.0)
    tickets = [worker.push() for _ in range(WINDOW + 1)]
    late = Ticket(wire.Push(0, 0, 0, 0, 0, "k", 0), [b""])
    worker.client.submit(late, 8.0)
    worker.client.nudge(10.5)
    assert all(isinstance(ticket.error, Unreachable) for ticket in tickets)
    assert not late.done
