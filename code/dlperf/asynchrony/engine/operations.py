"""Operations and their dependencies (RAW, WAR, WAW): which earlier operations each must wait for."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from itertools import islice
from queue import SimpleQueue
from time import perf_counter
from traceback import StackSummary, walk_stack
from typing import Any

FRONT_END = "front end"
"""The device of a wait: it is run by the thread that waits."""


class Variable:
    """What one engine's operations read and write: it knows its last writer and who has read it since."""

    def __init__(self) -> None:
        self.writer: Operation | None = None
        self.readers: list[Operation] = []


class Operation:
    """Work for the ``engine`` and, once ``done``, the record of it.

    ``after`` says which operations it follows, by ``number``, and why: RAW, WAR or WAW. ``enqueued``,
    ``start`` and ``end`` are seconds of `time.perf_counter`. ``error`` is what it raised, or what an
    operation whose result it reads did.
    """

    def __init__(self, engine: Any, queue: SimpleQueue, fn: Callable[[], Any] | None, name: str, device: str) -> None:
        self.engine, self.queue, self.fn, self.name, self.device = engine, queue, fn, name, device
        self.enqueued = self.start = self.end = perf_counter()
        self.number, self.done, self.error = 0, False, None  # type: int, bool, BaseException | None
        self.traceback = ""
        self.after: dict[int, str] = {}
        self.sources: list[Operation] = []  # whose results it reads
        self.followers: list[Operation] = []  # who waits for it
        self.missing = 1  # for how many it still waits, itself among them until it is linked
        # To format its frames now would cost more than all the rest.
        self.caller = [(frame.f_code, line) for frame, line in islice(walk_stack(sys._getframe(2)), 8)]

    def origin(self) -> str:
        """Returns the traceback of where it was enqueued, without this package's own frames, and of its failure."""
        frames = [(code.co_filename, line, code.co_name, None) for code, line in reversed(self.caller)]
        outside = [frame for frame in frames if os.path.dirname(frame[0]) != os.path.dirname(__file__)]
        failed = f"and failed here:\n{self.traceback}" if self.traceback else ""
        return f"{self.name} was enqueued here:\n{''.join(StackSummary.from_list(outside).format())}{failed}"

    def fail(self, error: BaseException) -> None:
        """Notes what it raised, and the traceback as text, which keeps alive no values of the calls in it."""
        self.traceback = "".join(traceback.format_exception(error))
        self.error = without_traceback(error)

    def follow(self, before: dict[Operation, str]) -> None:
        """Waits for those of ``before`` that are not done, and notes why."""
        self.after = {other.number: why for other, why in before.items()}
        self.sources = [other for other, why in before.items() if why == "RAW"]
        for other in before:
            if not other.done:
                self.missing += 1
                other.followers.append(self)

    def count_down(self) -> None:
        """One of those that it waits for is done; after the last it goes to its queue, with what a source raised."""
        self.missing -= 1
        if not self.missing:
            self.error = next((source.error for source in self.sources if source.error), None)
            self.queue.put(self)


def dependencies(
    reads: Sequence[Variable],
    writes: Sequence[Variable],
) -> dict[Operation, str]:
    """Returns what an operation has to follow, and why.

    It ``reads`` and ``writes`` these variables. RAW: it reads what another
    writes. WAR: it overwrites what another still reads. WAW: it overwrites
    what another writes. Where two hold for one pair, the last of WAR, WAW
    and RAW is given.
    """
    before = {reader: "WAR" for each in writes for reader in each.readers}
    before |= {each.writer: "WAW" for each in writes if each.writer}
    before |= {each.writer: "RAW" for each in reads if each.writer}
    return before


def without_traceback(error: BaseException) -> BaseException:
    """Returns an error whose traceback, and those of what led to it, are gone with all that they kept alive."""
    for other in (error.__cause__ or error.__context__, *getattr(error, "exceptions", ())):
        if other:
            without_traceback(other)
    return error.with_traceback(None)


def to_raise(error: BaseException) -> BaseException:
    """Returns a copy of a recorded error, lest the record hold the calls through which it is raised.

    What cannot be copied is returned itself.
    """
    with suppress(Exception):
        raised = copy(error)
        raised.__cause__, raised.__context__ = error.__cause__, error.__context__
        raised.__suppress_context__ = error.__suppress_context__
        return raised
    return error
