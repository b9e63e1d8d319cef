"""Workers' programs in the simulated cluster: the store of the book, whose calls wait for simulated messages.

A program is a thread, which runs only while the world waits for it: so everything still follows from the seed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self

from dlperf.kvstore.client import Ticket
from dlperf.kvstore.errors import StoreError
from dlperf.kvstore.requests import Asked
from dlperf.kvstore.store import Pending, Store
from tests.kvstore.simulated import World

LOOK = 0.005
"""So many simulated seconds pass between looks at whether a program may go on."""


class Killed(BaseException):
    """The process of a program has ended."""


class Program:
    """What a worker's process does: ``act(self)``, which waits by `sleep` and by the calls of its `store`.

    Passes for the condition and for the event by which a store's thread would tell its program of something.
    """

    def __init__(self, world: World, worker: int, act: Callable[[Program], None]) -> None:
        self.world, self.who = world, world.start_worker(worker)
        self.error: BaseException | None = None
        self.ended = False
        self._until: Callable[[], bool] = lambda: True
        self._its, self._ours = threading.Semaphore(0), threading.Semaphore(0)
        threading.Thread(target=self._run, args=[act], daemon=True).start()
        self._look()

    # The world's side.

    def _look(self) -> None:
        if self.who in self.world.down or (self.who not in self.world.paused and self._until()):
            self._its.release()
            self._ours.acquire()
        if not self.ended:
            self.world.at(LOOK, self._look)

    # The program's side.

    def _run(self, act: Callable[[Program], None]) -> None:
        self._its.acquire()
        try:
            act(self)
        except Killed:
            pass
        except BaseException as error:
            self.error = error
        self.ended = True
        self._ours.release()

    def wait_for(self, until: Callable[[], bool]) -> None:
        self._until = until
        self._ours.release()
        self._its.acquire()
        if self.who in self.world.down and not until():
            raise Killed

    def sleep(self, seconds: float) -> None:
        end = self.world.now + seconds
        self.wait_for(lambda: self.world.now >= end)

    def wait(self, _: float) -> bool:
        """Waits for the scheduler's word."""
        client = self.world.processes[self.who]
        self.wait_for(lambda: bool(client.view.epoch and client.view.workers[client.me]) or self.who in self.world.down)
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None: ...

    def store(self) -> Store:
        return _Store(self)


class _Store(Store):
    """A store whose messages the world carries."""

    def __init__(self, program: Program) -> None:
        self._program, self._world = program, program.world
        self._client = self._world.processes[program.who]
        super().__init__(self._world.config, self._client.me)
        self._ready = program  # type: ignore[assignment]
        self._enter()

    def _submit(self, asked: Sequence[Asked], result: Any = None) -> Pending:
        if self._program.who in self._world.down:
            raise StoreError("this process has been replaced")
        tickets = [Ticket(each.message, _copied(each.frames), each.took) for each in asked]
        for ticket in tickets:
            self._client.submit(ticket, self._world.now)
        return Pending(tickets, self._program, result)  # type: ignore[arg-type]

    def close(self) -> None:
        """Says so until the scheduler has heard; the thread of a real one would give up after a while."""
        while self.worker not in self.view.dropped and self._program.who not in self._world.down:
            self._world.beat_of_worker(self._program.who, leaving=True)
            self._program.sleep(0.2)
        self._world.down.add(self._program.who)


def _copied(frames: Sequence[Any]) -> list[bytes]:
    return [bytes(frame) for frame in frames]
