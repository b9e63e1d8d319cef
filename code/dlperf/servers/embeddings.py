"""A table of embeddings in the store: a step sends the rows that it touches, or all of them.

Words are Zipf-distributed: the r-th most frequent comes with a probability that falls as 1/r, so a batch has the same
few many times, and each row is sent once. A table lies in parts, and a step asks each part that has one of its rows:
where rows are few, it is the requests that take time, not their bytes. The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import msgspec
import torch
from torch import Tensor

from dlperf.environment import environment
from dlperf.kvstore import SGD, Config, connect, security
from dlperf.kvstore.placement import cut
from dlperf.measurement import Measurement
from dlperf.multigpu import traffic
from dlperf.network import Network
from dlperf.servers import goodput, hosts
from dlperf.turns import new_pairing_id


class Table(NamedTuple):
    """So many ``rows`` of ``width`` float32, of which a step draws ``draws``, by Zipf's law."""

    rows: int = 200_000
    width: int = 64
    draws: int = 1000

    @property
    def size(self) -> int:
        """The bytes of all rows."""
        return self.rows * self.width * 4


TABLE = Table()
"""A table of 51 MB, of which a step needs few rows."""


def chances(table: Table) -> Tensor:
    """Returns the probability of each row, float64: that of row r is in proportion to 1 / (r + 1)."""
    weights = 1 / torch.arange(1, table.rows + 1, dtype=torch.float64)
    return weights / weights.sum()


def zipf(table: Table, generator: torch.Generator) -> Tensor:
    """Returns the rows of a step, int64, with repetitions, by their `chances`."""
    return torch.multinomial(chances(table), table.draws, replacement=True, generator=generator)


def distinct(table: Table) -> float:
    """Returns how many different rows a step has, as expected."""
    return _hit(chances(table), table.draws)


def parts(table: Table, servers: int) -> list[slice]:
    """Returns the rows of each part in which a store of so many servers keeps the table."""
    return cut(table.rows, 4 * table.width, servers)


def parts_hit(table: Table, servers: int) -> float:
    """Returns how many parts have a row of a step, as expected."""
    each = chances(table)
    return _hit(torch.stack([each[part].sum() for part in parts(table, servers)]), table.draws)


def _hit(chances: Tensor, draws: int) -> float:
    return float((1 - (1 - chances) ** draws).sum())


def row_bytes(table: Table, different: float) -> tuple[float, float]:
    """Returns the bytes of tensors that a worker sends and gets in a step, by rows, of which so many differ.

    It sends their numbers (8 bytes each) with the pull, and once more with their gradients.
    """
    values = 4 * table.width * different
    return 2 * 8 * different + values, values


def dense_bytes(table: Table) -> tuple[float, float]:
    """Returns the bytes of tensors that a worker sends and gets in a step, if it pushes and pulls the whole table."""
    return float(table.size), float(table.size)


def seconds(sent: float, got: float) -> float:
    """Returns the seconds in which a worker can get and then send so many bytes, if its 1 Gbit/s is all that counts."""
    return (sent + got) * hosts.BETA


WAYS = ("rows", "touch", "dense")


@dataclass(frozen=True)
class Trial:
    """What a step took by rows and with the whole table ("dense"), and the bytes that left the worker's host.

    "touch" is a step with one row of each part, so nearly without bytes: from it is ``request``, the seconds that each
    request takes. ``tensors`` are the bytes that were to be sent, ``links`` the seconds that the links ask for, and
    ``predicted`` those and the seconds of requests.
    """

    table: Table
    taken: dict[str, Measurement]
    sent: dict[str, Measurement]
    tensors: dict[str, float]
    links: dict[str, float]
    request: float
    predicted: dict[str, float]


def one_step(store: Any, way: str, table: Table, rows: Tensor, dense: Tensor) -> None:
    """Gets the rows that a step needs and pushes their gradients: these alone, or within the whole table."""
    if way != "dense":
        values = store.pull_rows("embeddings", rows)
        store.push_rows("embeddings", rows, torch.ones_like(values))
    else:
        weights = store.pull("embeddings")
        dense.zero_()
        dense.index_add_(0, rows, torch.ones_like(weights[rows]))
        store.push("embeddings", dense)


def work(rank: int, told: bytes, table: Table, repeats: int) -> list[tuple[str, float, int]]:
    """Returns the way, the seconds and the bytes sent of each of a worker's steps; servers return none.

    The ways take turns. Raises ArithmeticError where the table is not as it must be afterwards.
    """
    config = msgspec.json.decode(told, type=Config)
    found: list[tuple[str, float, int]] = []
    if rank < len(config.servers):
        return found
    generator = torch.Generator().manual_seed(0)
    firsts = torch.tensor([part.start for part in parts(table, len(config.servers))])
    counts, dense = torch.zeros(table.rows), torch.zeros(table.rows, table.width)
    with connect(config, rank - len(config.servers)) as store:
        store.create_table("embeddings", torch.zeros(table.rows, table.width), SGD(lr=1.0))
        for turn in range(repeats + 1):
            for way in WAYS:
                rows = firsts if way == "touch" else zipf(table, generator)
                counts += rows.bincount(minlength=table.rows)
                before, start = traffic.sent(), perf_counter()
                one_step(store, way, table, rows, dense)
                taken, sent = perf_counter() - start, traffic.sent() - before
                if turn:  # the first warms up
                    found.append((way, taken, sent))
        if not torch.equal(store.pull("embeddings"), -counts[:, None].expand(-1, table.width)):
            raise ArithmeticError("the table is not what was pushed")
    return found


def measured(table: Table = TABLE, servers: int = 2, repeats: int = 5) -> Trial:
    """Returns what steps of one worker took, where it and every server has a link of 1 Gbit/s to a switch.

    Rounds wait for nobody, so that pushes count at once. Raises `dlperf.network.Unavailable` where there can be none.
    """
    with tempfile.TemporaryDirectory() as folder, Network(servers + 1) as network:
        keys = security.make_keys(Path(folder) / "keys")
        told = msgspec.json.encode(goodput.config(servers, 1, str(keys), staleness=None))
        network.run(hosts.start, told, timeout=300)
        found = network.run(work, told, table, repeats, timeout=300)[servers]
    here, turns, taken, sent = environment("cpu"), new_pairing_id(), {}, {}
    for way in WAYS:
        steps = [step for step in found if step[0] == way]
        taken[way] = Measurement(tuple(s[1] for s in steps), "s", way, 1, here, turns)
        sent[way] = Measurement(tuple(s[2] for s in steps), "B", way, 1, here, turns)
    both = {"rows": row_bytes(table, distinct(table)), "dense": dense_bytes(table)}
    links = {way: seconds(*each) for way, each in both.items()}
    request = taken["touch"].median / (2 * len(parts(table, servers)))
    predicted = {"rows": links["rows"] + 2 * parts_hit(table, servers) * request, "dense": links["dense"]}
    return Trial(table, taken, sent, {way: out for way, (out, _) in both.items()}, links, request, predicted)
