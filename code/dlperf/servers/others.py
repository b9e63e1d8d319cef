"""Adding up over two processes of one machine: through the store, and through what else PyTorch has.

Each worker has a tensor of ones and ends with the sum over both in a tensor of its own. The chapter *Parameter
servers* tells the story.
"""

from __future__ import annotations

import os
import socket
import tempfile
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import rpc
from torch.futures import Future

from dlperf.environment import environment
from dlperf.kvstore import Config, Store, connect, local
from dlperf.measurement import Measurement
from dlperf.turns import interleave
from dlperf.workers import Workers

WORKERS = 2
SERVER = WORKERS
"""The rank of the process that adds up for RPC: workers are those before it."""
LIMIT = 120.0
"""So many seconds may anything take."""

STORES: dict[str, dict[str, Any]] = {
    "the store, 1 server": {"servers": 1, "nearby": "tcp"},
    "the store, 2 servers": {"servers": 2, "nearby": "tcp"},
    "the store, Unix sockets": {"servers": 2, "nearby": "unix"},
}
"""What each cluster is told. Told nothing, workers reach servers on their machine by Unix sockets."""
GLOO = "all-reduce by gloo"
RPC, RPC_SHARED = "RPC", "RPC, shared memory"
TRANSPORTS: dict[str, dict[str, Any]] = {RPC: {"_transports": ["uv"], "_channels": ["basic"]}, RPC_SHARED: {}}
"""What TensorPipe is told. Told nothing, it reads the memory of processes that are on its machine."""

Summation = Callable[[Tensor], Tensor]
"""Takes a worker's tensor, which may change, and returns the sum over both."""


BY_TCP = ("the store, 1 server", "the store, 2 servers", GLOO, RPC)
"""Ways by which bytes cross loopback, as they would cross a network."""
NEARBY = ("the store, Unix sockets", RPC_SHARED)
"""What these do, told nothing, where all processes are on one machine."""


def measured(size: int = 160_000_000, repeats: int = 5, ways: Sequence[str] = BY_TCP) -> dict[str, Measurement]:
    """Returns the seconds until both workers have the sum of ``size`` bytes, by each of these ways; they take turns.

    Raises ValueError if one of ``ways`` is unknown, and WorkerError if a sum is wrong.
    """
    if odd := [way for way in ways if way not in (*BY_TCP, *NEARBY)]:
        raise ValueError(f"ways are {', '.join((*BY_TCP, *NEARBY))}; got {', '.join(odd)}")
    with ExitStack() as open_:
        folder = Path(open_.enter_context(tempfile.TemporaryDirectory()))
        clusters = {way: local.config(workers=WORKERS, **STORES[way]) for way in ways if way in STORES}
        for config in clusters.values():
            open_.enter_context(local.Cluster(config))
        told = {way: msgspec.json.encode(config) for way, config in clusters.items()}
        plans = [[way for way in ways if way != RPC_SHARED], [way for way in ways if way == RPC_SHARED]]
        crews: dict[str, Workers] = {}
        for number, plan in enumerate(filter(None, plans)):  # a process has one RPC
            crew = open_.enter_context(Workers(WORKERS + 1))
            crew.run(join, str(folder / f"{number}"), plan, told, size, timeout=LIMIT)
            crews |= dict.fromkeys(plan, crew)
        found = interleave({way: partial(_slowest, crews[way], way, size) for way in ways}, repeats)
        for crew in dict.fromkeys(crews.values()):
            crew.run(leave, timeout=LIMIT)
    here = environment("cpu")
    return {way: found[way].per_call(way, 1, here) for way in ways}


def _slowest(crew: Workers, way: str, size: int) -> float:
    return max(crew.run(clocked, way, size, timeout=LIMIT))


# In the processes of a crew.

_ways: dict[str, Summation] = {}
_rounds: Counter[str] = Counter()
_mine: dict[int, Tensor] = {}
"""A worker's tensor, for all ways and turns: new memory would cost time of its own."""
_stores: list[Store] = []


def clocked(rank: int, way: str, size: int) -> float:
    """Returns the seconds in which a worker has the sum, from the moment at which both have begun; 0 of the server.

    Raises ArithmeticError for a wrong sum.
    """
    if rank == SERVER:
        return 0.0
    mine = _mine[rank].fill_(1)
    dist.barrier()
    start = perf_counter()
    total = _ways[way](mine)
    seconds = perf_counter() - start
    _rounds[way] += 1
    right = WORKERS * (_rounds[way] if way in STORES else 1)  # what is in the store is the sum of all rounds
    if not bool((total == right).all()):
        raise ArithmeticError(f"{way}: the sum over {WORKERS} workers is {right}, got {total.unique().tolist()}")
    return seconds


def join(rank: int, folder: str, ways: Sequence[str], told: dict[str, bytes], size: int) -> None:
    """Has a process join what it needs for these ways; listens on loopback only."""
    [loopback] = (name for _, name in socket.if_nameindex() if name in ("lo", "lo0"))
    os.environ["GLOO_SOCKET_IFNAME"] = os.environ["TP_SOCKET_IFNAME"] = loopback
    warnings.filterwarnings("ignore", message="You are using a Backend")  # RPC's own code does
    for way in TRANSPORTS:
        if way in ways:
            options = rpc.TensorPipeRpcBackendOptions(
                init_method=f"file://{folder}-rpc", rpc_timeout=LIMIT, **TRANSPORTS[way]
            )
            rpc.init_rpc(f"process{rank}", rank=rank, world_size=WORKERS + 1, rpc_backend_options=options)
            _ways[way] = by_rpc
    if rank != SERVER:
        dist.init_process_group("gloo", init_method=f"file://{folder}-gloo", rank=rank, world_size=WORKERS)
        _ways[GLOO], _mine[rank] = by_all_reduce, torch.empty(size // 4)
        join_stores(rank, {way: config for way, config in told.items() if way in ways}, size)


def leave(rank: int) -> None:
    """Ends what a process has joined."""
    for store in _stores:
        store.close()
    if _ways.keys() & TRANSPORTS.keys():
        rpc.shutdown()
    if rank != SERVER:
        dist.destroy_process_group()


def by_all_reduce(mine: Tensor) -> Tensor:
    """Returns the worker's tensor, which has become the sum."""
    dist.all_reduce(mine)
    return mine


def join_stores(rank: int, told: dict[str, bytes], size: int) -> None:
    """Connects a worker to the cluster of each way."""
    for way, config in told.items():
        store = connect(msgspec.json.decode(config, type=Config), rank)
        store.create("sum", torch.zeros(size // 4))
        _stores.append(store)
        _ways[way] = partial(through_store, store)


def through_store(store: Store, mine: Tensor) -> Tensor:
    """Returns the worker's tensor, with the value after the round, to which all pushes were added."""
    store.push("sum", mine)
    store.clock()
    return store.pull("sum", out=mine)


def by_rpc(mine: Tensor) -> Tensor:
    """Returns what the third process answers when it has heard of both workers."""
    return rpc.rpc_sync(f"process{SERVER}", add, args=(mine,))


_lock = threading.Lock()
_total: Future[Tensor] = Future()
_theirs: list[Tensor] = []


@rpc.functions.async_execution
def add(theirs: Tensor) -> Future[Tensor]:
    """Returns, to each worker, the sum when the last one's tensor has come; runs in the third process."""
    global _total
    with _lock:
        total = _total
        _theirs.append(theirs)
        if len(_theirs) == WORKERS:
            for other in _theirs[1:]:
                _theirs[0].add_(other)
            total.set_result(_theirs[0])
            _theirs.clear()
            _total = Future()
    return total
