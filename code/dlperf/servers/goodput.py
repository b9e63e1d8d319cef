"""The store over links of 1 Gbit/s: a server or a worker on each host of a network, and how long a round takes.

The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import msgspec
import torch

from dlperf.environment import cores, environment
from dlperf.kvstore import Config, Store, connect, security
from dlperf.measurement import Measurement
from dlperf.network import Network, address
from dlperf.servers import hosts, links, loads
from dlperf.servers.loads import Links, Phase

PORT = 5570
LIMIT = 300.0
"""So many seconds may anything take."""


class Layout(NamedTuple):
    """Which hosts hold the model: so many ``servers`` come first, or are on the workers' own hosts (``colocated``).

    Each range of keys is on so many servers as there are ``copies``. If server 1 is ``dead``, it is killed before the
    rounds that are measured, and the others have taken over.
    """

    servers: int
    workers: int = 4
    copies: int = 1
    colocated: bool = False
    dead: bool = False

    @property
    def first(self) -> int:
        """The host of the first worker."""
        return 0 if self.colocated else self.servers

    @property
    def hosts(self) -> int:
        return self.first + self.workers

    @property
    def names(self) -> tuple[str, ...]:
        """What the hosts are called in a picture."""
        if self.colocated:
            return tuple(map(str, range(self.workers)))
        return (*(f"s{i}" for i in range(self.servers)), *(f"w{i}" for i in range(self.workers)))

    @property
    def phases(self) -> list[Phase]:
        """What the links carry in a round, by formula. Raises ValueError if no formula here covers the layout."""
        if self.colocated:
            if self.servers != self.workers or self.copies > 1 or self.dead:
                raise ValueError(f"colocated, each host has a server and a worker, and no copies; got {self}")
            return loads.spread(self.workers)
        if self.dead:
            if (self.servers, self.copies) != (2, 2):
                raise ValueError(f"with a dead server there were two, and two copies; got {self}")
            push, pull = loads.servers(1, self.workers)
            nothing = loads.Load()
            return [(push[0], nothing, *push[1:]), (pull[0], nothing, *pull[1:])]
        return loads.servers(self.servers, self.workers, self.copies)


@dataclass(frozen=True)
class Trial:
    """What rounds of pushing and pulling ``size`` bytes took in a layout, and what each host's link carried in one."""

    layout: Layout
    size: int
    taken: dict[str, Measurement]
    """The seconds until the last worker had pushed, had pulled, and ``both``; see `SPANS`."""
    counts: Phase
    processors: float
    """The seconds that all processes of all hosts together had of processors in a round."""

    @property
    def links(self) -> Links:
        """The picture of the layout."""
        return Links(self.layout.names, tuple(self.layout.phases), self.counts)

    @property
    def bound(self) -> float:
        """The seconds of a round, if links are all that counts."""
        return loads.fullest(self.layout.phases) * self.size * hosts.BETA

    @property
    def by_cores(self) -> float:
        """The seconds of a round, if the cores that all hosts share are all that counts."""
        return self.processors / cores()


def config(servers: int, workers: int, keys: str | None, port: int = PORT, **options: Any) -> Config:
    """Returns a cluster on the hosts of a network, unprotected without keys: the scheduler and servers come first."""
    listening = tuple(f"{address(host)}:{port + 1}" for host in range(servers))
    told = options | {"keys": keys, "unprotected": keys is None}
    return Config(scheduler=f"{address(0)}:{port}", servers=listening, workers=workers, **told)


class Round(NamedTuple):
    """The moments, by one clock of all hosts, between which a worker pushed, and those between which it pulled."""

    begun: float
    pushed: float
    pulling: float
    pulled: float


SPANS = {"push": ("begun", "pushed"), "pull": ("pulling", "pulled"), "both": ("begun", "pulled")}
"""Between which moments of a `Round` each lies."""

_stores: list[Store] = []
"""On a worker's host: its end of the cluster."""


def join(rank: int, told: bytes, first: int, size: int) -> None:
    """Connects a worker, and has the store keep ``size`` bytes; host ``first`` is the first worker's."""
    config = msgspec.json.decode(told, type=Config)
    if 0 <= rank - first < config.workers:
        store = connect(config, rank - first)
        store.create("w", torch.ones(size // 4))
        _stores.append(store)


def rounds(rank: int, size: int, repeats: int) -> list[Round]:
    """Returns a worker's rounds, in which it pushes and then pulls; others return none."""
    found: list[Round] = []
    for store in _stores:
        value = torch.ones(size // 4)
        for _ in range(repeats):
            store.clock()  # all begin together
            begun = perf_counter()
            store.push("w", value)
            pushed = perf_counter()
            store.clock()
            pulling = perf_counter()
            store.pull("w", out=value)
            found.append(Round(begun, pushed, pulling, perf_counter()))
    return found


def leave(rank: int) -> None:
    """Ends what a host has joined."""
    while _stores:
        _stores.pop().close()


def kill(rank: int, host: int) -> None:
    """Ends the server of one host at once."""
    if rank == host:
        hosts.stop(rank)


def measured(layouts: Mapping[str, Layout], size: int, repeats: int = 5) -> dict[str, Trial]:
    """Returns what rounds of each layout took, until the last worker was done, and what their links carried.

    Every host has a link of 1 Gbit/s, and what crosses it is encrypted. Raises `dlperf.network.Unavailable` where
    there can be no network, and what `Layout.phases` does.
    """
    found = {}
    most = max(layout.hosts for layout in layouts.values())
    with tempfile.TemporaryDirectory() as folder, Network(most) as network:
        keys = security.make_keys(Path(folder) / "keys")
        for name, layout in layouts.items():
            times: dict[str, Any] = {} if layout.dead else {"lease": 50.0, "dead": 60.0}  # nobody is to be given up
            told = config(layout.servers, layout.workers, str(keys), copies=layout.copies, **times)
            found[name] = _measured(network, layout, told, size, repeats)
    return found


def _measured(network: Network, layout: Layout, told: Config, size: int, repeats: int) -> Trial:
    run = partial(network.run, timeout=LIMIT)
    encoded = msgspec.json.encode(told)
    run(hosts.start, encoded)
    run(join, encoded, layout.first, size)
    run(rounds, size, 1)  # warms up
    if layout.dead:
        run(kill, 1)
        run(rounds, size, 1)  # until another has taken over
    before = sum(run(hosts.computed))
    each, counts = links.counted(network, lambda: run(rounds, size, repeats), repeats * size)
    processors = (sum(run(hosts.computed)) - before) / repeats
    run(leave)
    run(hosts.stop)
    workers = each[layout.first : layout.hosts]
    return Trial(layout, size, _columns(workers, f"{layout}, {size} bytes"), counts[: layout.hosts], processors)


def _columns(found: Sequence[Sequence[Round]], what: str) -> dict[str, Measurement]:
    """Returns the seconds from when the first worker began until the last had ended, in each round.

    They begin with the first worker: one that comes late, and has the link for itself then, would seem fast.
    """
    here, columns = environment("cpu"), {}
    for name, (begin, end) in SPANS.items():
        turns = zip(*found, strict=True)
        columns[name] = tuple(
            max(getattr(r, end) for r in all_) - min(getattr(r, begin) for r in all_) for all_ in turns
        )
    return {name: Measurement(samples, "s", f"{name}: {what}", 1, here) for name, samples in columns.items()}
