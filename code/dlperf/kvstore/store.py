"""Key-value store client used by workers: create, push and pull tensors, and end rounds, over any transport."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor

from dlperf.kvstore import peers, placement, requests, wire
from dlperf.kvstore.client import Client, Ticket
from dlperf.kvstore.config import Config
from dlperf.kvstore.errors import StoreError, Unreachable
from dlperf.kvstore.membership import View
from dlperf.kvstore.requests import Asked, Made
from dlperf.kvstore.updaters import Sum, Updater

SUM = Sum()
FROM_SCHEDULER = wire.decoder(peers.FromScheduler)


class Pending:
    """Requests under way. `wait` returns what was pulled when all are done, or raises what went wrong."""

    def __init__(self, tickets: Sequence[Ticket], changed: threading.Condition, result: Any = None) -> None:
        self._tickets, self._changed, self._result = tickets, changed, result

    @property
    def done(self) -> bool:
        return all(ticket.done for ticket in self._tickets)

    def wait(self) -> Any:
        with self._changed:
            self._changed.wait_for(lambda: self.done)
        for ticket in self._tickets:
            if ticket.error is not None:
                raise ticket.error
        return self._result

    def clocks(self) -> list[int]:
        """Returns how many rounds the worker has ended, as the range of each operation says, as soon as they count."""
        with self._changed:
            self._changed.wait_for(lambda: all(ticket.done or ticket.clock is not None for ticket in self._tickets))
        if any(ticket.error for ticket in self._tickets):
            self.wait()
        return [ticket.clock or 0 for ticket in self._tickets]


class Store(AbstractContextManager):
    """A worker's end of the cluster: ``worker`` is its number. A context manager; leaving it tells the others.

    Every worker creates the keys that it uses, with the same shapes; the first one's numbers count. Methods without
    ``start_`` return when the request counts. Raises `Refused` with what a server found wrong, `Lost` where a worker or
    a range is gone, `Unreachable` when ``config.patience`` is over; the store can be used on after each of them.
    ``rounds`` is how many rounds the worker has ended: none, or as many as its servers say where it was there before.
    A backend says what becomes of requests (`_submit`), and how to end.
    """

    _client: Client

    def __init__(self, config: Config, worker: int) -> None:
        if not 0 <= worker < config.workers:
            raise ValueError(f"workers are 0 to {config.workers - 1}, got {worker}")
        self.config, self.worker = config, worker
        self.rounds = 0
        self._in_doubt = False
        self._ring = placement.Ring(len(config.servers))
        self._made: dict[str, Made] = {}
        self._ready = threading.Event()
        self._run = int.from_bytes(os.urandom(7))

    @property
    def view(self) -> View:
        """The cluster as this worker knows it: which servers hold which range, who is lost."""
        return self._client.view

    def create(self, key: str, value: Tensor, updater: Updater = SUM) -> None:
        """Has the store keep a tensor, which pushes change by ``updater``."""
        self._create(key, value, updater, table=False)

    def create_table(self, key: str, value: Tensor, updater: Updater = SUM) -> None:
        """Has the store keep a tensor of two dimensions, whose rows can also be pushed and pulled one by one."""
        self._create(key, value, updater, table=True)

    def push(self, key: str | Sequence[str], value: Tensor | Sequence[Tensor]) -> None:
        """Has the updater take a tensor, or one for each key of a list, with the shape that was created."""
        self.start_push(key, value).wait()

    def pull(self, key: str | Sequence[str], out: Tensor | Sequence[Tensor] | None = None) -> Any:
        """Returns the tensor of a key, or a list for a list of keys: new ones, or those that are given as ``out``."""
        return self.start_pull(key, out).wait()

    def start_push(self, key: str | Sequence[str], value: Tensor | Sequence[Tensor]) -> Pending:
        """Begins a push; until it has been waited for, the tensor must not change."""
        if isinstance(key, str):
            key, value = [key], [value]  # type: ignore[list-item]
        if len(key) != len(value):
            raise ValueError(f"there is a tensor for each key: got {len(key)} keys and {len(value)} tensors")
        return self._submit([each for k, v in zip(key, value, strict=True) for each in requests.push(self._find(k), v)])

    def start_pull(self, key: str | Sequence[str], out: Tensor | Sequence[Tensor] | None = None) -> Pending:
        """Begins a pull; waiting for it returns what `pull` does. Until then nobody knows what is in ``out``."""
        found = [self._find(k) for k in ([key] if isinstance(key, str) else key)]
        given = [out] if isinstance(out, Tensor) else out
        results = [torch.empty(it.shape, dtype=it.dtype) for it in found] if given is None else list(given)
        if len(results) != len(found):
            raise ValueError(f"there is a tensor for each key: got {len(found)} keys and {len(results)} tensors")
        asked = [each for it, result in zip(found, results, strict=True) for each in requests.pull(it, result)]
        return self._submit(asked, results[0] if isinstance(key, str) else results)

    def push_rows(self, key: str, rows: Tensor, value: Tensor) -> None:
        """Has the updater take some rows of a table; a row that comes more than once is added up."""
        self._submit(requests.push_rows(self._find(key, table=True), rows, value)).wait()

    def pull_rows(self, key: str, rows: Tensor) -> Tensor:
        """Returns some rows of a table, in the order in which they are asked for."""
        it = self._find(key, table=True)
        result = torch.empty((len(rows), it.shape[1]), dtype=it.dtype)
        return self._submit(requests.pull_rows(it, rows, result), result).wait()

    def clock(self) -> None:
        """Ends the round. Returns when no other worker is further behind than ``config.staleness`` allows.

        If rounds have gone on without this worker, which was silent for long, it ends the one that the others are in.
        Called again after it raised, it ends the same round, once.
        """
        if self._in_doubt:  # an end of this round that raised may count
            ended = self._tick(0)
            if ended > self.rounds:
                self.rounds, self._in_doubt = ended, False
                return
        self._in_doubt = True
        self.rounds = self._tick(self.rounds + 1)
        self._in_doubt = False

    def _tick(self, clock: int) -> int:
        """Ends the round in all ranges, or with 0 in none, and waits for others; returns how many the worker has ended.

        Ranges may know of different numbers: if the worker died while it told them, or was dropped while others did.
        Then all follow the one that knows of the most, before this waits.
        """
        asked, clocks, under_way = list(range(len(self.config.servers))), dict[int, int](), list[Pending]()
        while asked:
            pending = self._submit([Asked(wire.Tick(0, 0, 0, r, 0, clock)) for r in asked])
            under_way.append(pending)
            clocks.update(zip(asked, pending.clocks(), strict=True))
            clock = max(clocks.values())
            asked = [r for r, ended in clocks.items() if ended < clock]
        for pending in under_way:
            pending.wait()
        return clock

    def close(self) -> None:
        """Tells the scheduler that rounds need not wait for this worker, and ends the connections.

        Returns when the scheduler knows, or has not answered for half a second.
        """
        raise NotImplementedError

    def _hear(self, header: Any, now: float) -> None:
        """Takes a word of the scheduler. Raises `StoreError` where it will not have this process."""
        message = wire.decode(header, FROM_SCHEDULER)
        if isinstance(message, peers.Unwelcome):
            raise StoreError(message.detail)
        if message.view is not None:
            self._client.install(message.view, now)
            if message.view.epoch and message.view.workers[self.worker]:
                self._ready.set()

    def _here(self, leaving: bool) -> peers.Beat:
        """Returns what the scheduler is told from time to time."""
        return peers.Beat("worker", self.worker, self._run, self._client.view.epoch, 0, (), leaving)

    def _enter(self) -> None:
        """Waits until the scheduler was heard, and learns how many rounds the worker has ended.

        These are more than none if it was there before. If others have not ended the last of them, it waits for them,
        as `clock` did. Ends the store where it raises.
        """
        try:
            if not self._ready.wait(self.config.patience):
                scheduler, patience = self.config.scheduler, self.config.patience
                raise Unreachable(f"no word of the scheduler at {scheduler} for {patience:g} s")
            self.rounds = self._tick(0)
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        self.close()

    def _submit(self, asked: Sequence[Asked], result: Any = None) -> Pending:
        """Has requests sent, and answered; waiting for them returns ``result``."""
        raise NotImplementedError

    def _create(self, key: str, value: Tensor, updater: Updater, table: bool) -> None:
        it = requests.made(key, value, self._ring, table)
        self._submit(requests.create(it, value, updater)).wait()
        self._made[key] = it

    def _find(self, key: str, table: bool = False) -> Made:
        it = self._made.get(key)
        if it is None:
            known = ", ".join(map(repr, self._made)) or "no keys"
            raise KeyError(f"this worker has not created {key!r}; it has {known}")
        if table and not it.table:
            raise ValueError(f"{key!r} is no table: create_table makes one, whose rows can be pushed and pulled")
        return it
