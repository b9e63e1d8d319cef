"""The scheduler: who is alive, and the view that follows. It sees no tensor, and no push or pull passes through it.

While it is down, servers go on until a lease ends; then reads wait for it. It puts each view down before anybody
hears of it, so that it never takes one back.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import msgspec

from dlperf.kvstore import membership, peers, wire
from dlperf.kvstore.config import Config
from dlperf.kvstore.membership import View

FORMER = 10**5
"""So many processes that others have replaced are remembered, so that none of them is let in again."""


class Remembered(msgspec.Struct):
    """What a scheduler puts down: its view, the latest process of each worker and server, and those before them."""

    view: View
    worker_runs: list[int]
    server_runs: list[int]
    former: list[int]


class Scheduler:
    """A scheduler without its sockets. ``keep`` puts down what it has decided; ``before`` is what it had put down."""

    def __init__(
        self, config: Config, keep: Callable[[Remembered], None], now: float, before: Remembered | None = None
    ) -> None:
        self.config, self.keep = config, keep
        servers = len(config.servers)
        nobody = Remembered(membership.empty(servers, config.workers), [0] * config.workers, [0] * servers, [])
        self.state = before or nobody
        self.holds: list[dict[int, int]] = [{}] * servers
        self.back = [0] * servers  # runs that have reported while it recovers
        self.replaced = [float("-inf")] * servers  # when the process was heard last in whose place another has come
        self.ignored = 0
        """The process of a server that is not heard until it is taken for dead, if there is one: see `_stuck`."""
        self.recovering = self.state.view.epoch > 0
        self.forgot = ""
        """What is there that this scheduler has no file of, if anything: it must be given the file; it leads nobody."""
        self.heard: dict[tuple[str, int], float] = {("server", s): now for s in range(servers)}
        for worker, run in enumerate(self.state.worker_runs):
            if run:
                self.heard["worker", worker] = now

    @property
    def view(self) -> View:
        return self.state.view

    def handle(self, message: Any, now: float) -> wire.Message | None:
        """Returns the answer to a message, if it has one."""
        if isinstance(message, peers.CaughtUp):
            if message.epoch == self.view.epoch and message.range < len(self.view.chains):
                view = membership.caught_up(self.view, message.range, message.server, self.config.copies)
                self._change(view)
            return None
        if isinstance(message, peers.Stuck):
            self._stuck(message)
            return None
        total = len(self.config.servers) if message.role == "server" else self.config.workers
        if message.rank >= total:
            return peers.Unwelcome(f"this cluster has {total} {message.role}s, from 0; there is no {message.rank}")
        if self.is_former(message.run):
            return peers.Unwelcome(f"another process is {message.role} {message.rank} now")
        if message.epoch and not self.view.epoch:  # to send it away would be the end of what it has in memory
            self.forgot = (
                f"{message.role} {message.rank} is in epoch {message.epoch} of a cluster of which this scheduler "
                "has no file: start it with the folder that it had"
            )
            return None
        if self.ignored and message.run == self.ignored:
            return None
        before = self.heard.get((message.role, message.rank), now)
        self.heard[message.role, message.rank] = now
        try:
            self._server(message, before, now) if message.role == "server" else self._worker(message)
        except ValueError as error:
            return peers.Unwelcome(str(error))
        return peers.Heard(message.at, None if message.epoch == self.view.epoch else self.view)

    def _stuck(self, message: peers.Stuck) -> None:
        """Goes on without a server that the one before it in a chain does not reach, though it may be alive.

        It is not heard from now on, and not answered. So its lease has ended when it is taken for dead, as any server
        is that has been silent for as long; its next beat brings it back, to be filled up. One at a time, and nothing
        that it says itself: where each of two complains of the other, the first one is believed.
        """
        view = self.view
        if message.epoch != view.epoch or self.recovering or self.ignored:
            return
        line = [*view.chains[message.range], view.joining[message.range]] if message.range < len(view.chains) else []
        if (message.server, message.next) in pairwise(line) and message.next != membership.NOBODY:
            self.ignored = view.runs[message.next]

    def _server(self, beat: peers.Beat, before: float, now: float) -> None:
        """Takes a server's beat; ``before`` is when the one before it came."""
        server, view = beat.rank, self.view
        self.holds[server] = dict(beat.holds)
        if beat.leaving:
            if view.runs[server] and not membership.is_needed(view, server):
                self._change(membership.servers_gone(view, [server], self.config.copies))
            return
        if beat.run != self.state.server_runs[server]:  # also where the one before was taken for dead, and is not
            self._replace(self.state.server_runs[server])
            self.state.server_runs[server] = beat.run
            self.replaced[server] = before
        if self.recovering:
            self.back[server] = beat.run
            if all(self.back):
                self._recover()
        elif view.runs[server] == beat.run or (view.runs[server] and now - self.replaced[server] <= self.config.dead):
            pass  # the process before may still answer reads, until its lease ends
        elif view.epoch:
            self._change(membership.server_came(view, server, beat.run, self.holds[server], self.config.copies))
        else:
            self._first(server, beat)

    def _first(self, server: int, beat: peers.Beat) -> None:
        """Begins when all servers are there, unless one has ranges from another time."""
        if beat.holds:
            raise ValueError(
                f"server {server} has ranges {list(self.holds[server])} on its disk, and the scheduler knows of none: "
                "give the scheduler its old folder, or the server an empty one"
            )
        runs = tuple(beat.run if each == server else old for each, old in enumerate(self.view.runs))
        view = msgspec.structs.replace(self.view, runs=runs)
        self._change(membership.begin(view, self.config.copies) if all(runs) else view)

    def _worker(self, beat: peers.Beat) -> None:
        worker, view, runs = beat.rank, self.view, self.state.worker_runs
        if beat.leaving:
            self.heard.pop(("worker", worker), None)
            self._replace(beat.run)  # what it has sent before may come after
            if worker not in view.dropped:
                self._change(membership.worker_gone(view, worker, drop=True))
        elif runs[worker] != beat.run:
            self._replace(runs[worker])
            runs[worker] = beat.run
            self._change(membership.worker_came(view, worker, view.workers[worker] + 1))
        elif worker in view.lost:
            self._change(membership.worker_came(view, worker, view.workers[worker]))

    def is_former(self, run: int) -> bool:
        """Returns whether a process has left, or another has taken its place: then it is told of no further view.

        For a view says how often a worker has come: who it was before would take the next one's numbers for its own.
        """
        return run in self.state.former

    def tick(self, now: float) -> bool:
        """Takes for lost who has not been heard of for too long; returns whether the view has changed."""
        epoch = self.view.epoch
        late = [who for who, when in self.heard.items() if now - when > self.config.dead]
        if self.recovering and late:
            self._recover()
        if gone := [rank for role, rank in late if role == "server" and self.view.epoch and self.view.runs[rank]]:
            self._change(membership.servers_gone(self.view, gone, self.config.copies))
        if self.ignored not in self.view.runs:
            self.ignored = 0
        for role, rank in late:
            if role == "worker" and rank not in self.view.lost:
                self._change(membership.worker_gone(self.view, rank, drop=self.config.on_lost == "drop"))
        return self.view.epoch != epoch

    def _recover(self) -> None:
        self.recovering = False
        self._change(membership.recovered(self.view, self.back, self.holds, self.config.copies))

    def _replace(self, run: int) -> None:
        if run:
            self.state.former = [*self.state.former, run][-FORMER:]

    def _change(self, view: View) -> None:
        if view != self.state.view:
            self.state.view = view
            self.keep(self.state)
