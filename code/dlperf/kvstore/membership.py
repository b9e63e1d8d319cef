"""Compute cluster membership and each key range's replica chain, as functions from one view to the next.

The servers that hold a range are a chain: operations enter at its head and are acknowledged when its tail has them,
so every server of a chain has all that was ever acknowledged. Hence a chain may lose any server but its last, and a
server that joins is filled up behind the tail before it counts. Each change is a new *epoch*, and servers refuse
what was sent in another. Source: van Renesse and Schneider, Chain replication for supporting high throughput and
availability, OSDI 2004.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from dlperf.kvstore import placement, wire

NOBODY = -1


class View(wire.Message, frozen=True):
    """The cluster in one ``epoch``.

    ``runs`` has a number for each server's process, 0 where none is up. A range has its ``chains`` entry and, in
    ``joining``, the server that is being filled up, or `NOBODY`. Where a whole chain is gone, those that were its last
    stay in it: only there is what was acknowledged; who comes back without is taken out. ``workers`` are
    incarnations, 0 before a worker has come; ``lost`` are those that were heard of no more, ``dropped`` those that
    rounds no longer wait for. ``first`` are the runs with which the cluster began, and empty ranges.
    """

    epoch: wire.Count
    runs: tuple[wire.Count, ...]
    chains: tuple[tuple[wire.Small, ...], ...]
    joining: tuple[int, ...]
    workers: tuple[wire.Count, ...]
    lost: tuple[wire.Small, ...] = ()
    dropped: tuple[wire.Small, ...] = ()
    first: tuple[wire.Count, ...] = ()

    @property
    def active(self) -> tuple[int, ...]:
        """The workers that rounds wait for."""
        return tuple(worker for worker in range(len(self.workers)) if worker not in self.dropped)

    def is_up(self, range_: int) -> bool:
        """Returns whether anybody serves a range."""
        return bool(self.chains[range_]) and all(self.runs[server] for server in self.chains[range_])


@dataclass(frozen=True)
class Seat:
    """A server's ``place`` in the chain of a range: 0 is the head; `NOBODY`, it is none of it, but may be joining.

    ``before`` and ``next`` are the servers that it hears from and that hear from it. The tail's next is the ``joiner``,
    if there is one.
    """

    place: int = NOBODY
    is_tail: bool = False
    before: int = NOBODY
    next: int = NOBODY
    joiner: int = NOBODY


def seat(view: View, range_: int, server: int) -> Seat:
    """Returns the seat of a server in the chain of a range."""
    chain, joiner = view.chains[range_], view.joining[range_]
    line = [*chain, joiner] if joiner != NOBODY else [*chain]
    if server not in line:
        return Seat(joiner=joiner)
    here = line.index(server)
    before = line[here - 1] if here else NOBODY
    behind = line[here + 1] if here + 1 < len(line) else NOBODY
    return Seat(here if server in chain else NOBODY, here == len(chain) - 1, before, behind, joiner)


def empty(servers: int, workers: int) -> View:
    """Returns the view before anybody has come: epoch 0, in which nothing is served."""
    return View(0, (0,) * servers, ((),) * servers, (NOBODY,) * servers, (0,) * workers)


def begin(view: View, copies: int) -> View:
    """Returns the first view in which ranges are served, by empty servers, once all of them are there."""
    servers = len(view.runs)
    if view.epoch or not all(view.runs):
        raise ValueError(
            f"a cluster begins once, when all servers are up; this is epoch {view.epoch}, runs {view.runs}"
        )
    chains = tuple(tuple(placement.chain(r, range(servers), copies, servers)) for r in range(servers))
    return msgspec.structs.replace(view, epoch=1, chains=chains, first=view.runs)


def server_came(view: View, server: int, run: int, holds: Collection[int], copies: int) -> View:
    """Returns the view when a process of a server has reported: its former one, if there was, is gone.

    It ``holds`` these ranges on its disk, which counts for those of which it is the last that had them.
    """
    view = servers_gone(view, [server], copies) if view.runs[server] else view
    runs = tuple(run if each == server else old for each, old in enumerate(view.runs))
    chains = []
    for r, chain in enumerate(view.chains):
        if server in chain:  # then nobody else of it is up
            others = tuple(each for each in chain if each != server)
            chain = (server,) if r in holds else others
        chains.append(chain)
    return _next(view, copies, runs=runs, chains=tuple(chains))


def recovered(view: View, runs: Sequence[int], holds: Sequence[Mapping[int, int]], copies: int) -> View:
    """Returns the view after all have been down, the scheduler among them, when servers have reported with ``runs``.

    A server that was not down stays what it was. Of a chain that was, all have what was acknowledged, so those that
    have the range on their disks are the chain again; ``holds`` says how many operations of it each has, and who has
    more comes first, to give the others what they lack. Where none has reported yet, the chain waits for any of them.
    """
    chains = []
    for r, chain in enumerate(view.chains):
        same = [server for server in chain if runs[server] and runs[server] == view.runs[server]]
        back = [(-holds[server][r], place) for place, server in enumerate(chain) if runs[server] and r in holds[server]]
        gone = [server for server in chain if not runs[server]]
        chains.append(tuple(same or [chain[place] for _, place in sorted(back)] or gone))
    changes = {"runs": tuple(runs), "chains": tuple(chains), "joining": (NOBODY,) * len(chains)}
    return _next(view, copies, **changes)


def servers_gone(view: View, servers: Collection[int], copies: int) -> View:
    """Returns the view without some servers: each range that they served goes on with the rest of its chain.

    Those that are gone at once are taken out at once: where nobody is left of a chain, any of them has its range.
    """
    runs = tuple(0 if each in servers else old for each, old in enumerate(view.runs))
    chains = tuple(
        tuple(each for each in chain if each not in servers) if any(runs[each] for each in chain) else chain
        for chain in view.chains
    )
    joining = tuple(NOBODY if each in servers else each for each in view.joining)
    return _next(view, copies, runs=runs, chains=chains, joining=joining)


def is_needed(view: View, server: int) -> bool:
    """Returns whether a server is the only one that has all of some range, which another is being given."""
    given = [chain for chain, joiner in zip(view.chains, view.joining, strict=True) if joiner != NOBODY]
    return any([each for each in chain if view.runs[each]] == [server] for chain in given)


def caught_up(view: View, range_: int, server: int, copies: int) -> View:
    """Returns the view in which a server that was being filled up is the tail of the chain; the next may join."""
    if view.joining[range_] != server:
        return view
    chains = tuple((*chain, server) if r == range_ else chain for r, chain in enumerate(view.chains))
    joining = tuple(NOBODY if r == range_ else each for r, each in enumerate(view.joining))
    return _next(view, copies, chains=chains, joining=joining)


def worker_came(view: View, worker: int, incarnation: int) -> View:
    """Returns the view when a process of a worker has reported; rounds wait for it again."""
    workers = tuple(incarnation if each == worker else old for each, old in enumerate(view.workers))
    lost, dropped = (tuple(each for each in some if each != worker) for some in (view.lost, view.dropped))
    return msgspec.structs.replace(view, epoch=_later(view), workers=workers, lost=lost, dropped=dropped)


def worker_gone(view: View, worker: int, drop: bool) -> View:
    """Returns the view without a worker, for which rounds wait, or not if they are to ``drop`` it."""
    dropped = tuple(sorted({*view.dropped, worker})) if drop else view.dropped
    lost = tuple(sorted({*view.lost, worker}))
    return msgspec.structs.replace(view, epoch=_later(view), lost=lost, dropped=dropped)


def _later(view: View) -> int:
    """Returns the next epoch; before the cluster has begun it stays 0."""
    return view.epoch + (view.epoch > 0)


def _next(view: View, copies: int, **changes: object) -> View:
    """Returns the next view, in which ranges with too few servers are joined by one that is up."""
    view = msgspec.structs.replace(view, epoch=_later(view), **changes)
    if not view.epoch:
        return view
    total = len(view.runs)
    chains, joining = list(view.chains), list(view.joining)
    for r, chain in enumerate(chains):
        if alive := [server for server in chain if view.runs[server]]:
            chains[r] = tuple(alive)
        up = [server for server in range(total) if view.runs[server]]
        others = [server for server in placement.chain(r, up, total, total) if server not in chain]
        if alive and joining[r] == NOBODY and len(alive) < copies and others:
            joining[r] = others[0]
    return msgspec.structs.replace(view, chains=tuple(chains), joining=tuple(joining))
