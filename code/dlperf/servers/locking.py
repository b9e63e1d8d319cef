"""Trainers that change one model on a server by remote calls, under its lock: for a whole step, or for the update.

In an example of PyTorch's, trainers changed weights while others were between forward and backward pass; a mend that
was proposed lets one trainer at a time take its whole step. Sources: pytorch/examples, pull requests 705, 842 and 877.
Trainers sleep instead of computing, so that cores are not what they wait for. The chapter *Parameter servers* tells the
story.
"""

from __future__ import annotations

import os
import socket
import tempfile
import threading
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter, sleep

import torch
from torch import Tensor
from torch.distributed import rpc

from dlperf.environment import environment
from dlperf.measurement import Measurement
from dlperf.turns import interleave
from dlperf.workers import Workers

SERVER = "server"
LIMIT = 120.0
"""So many seconds may anything take."""
COMPUTE, UPDATE = 0.06, 0.01
"""The seconds of a trainer's forward and backward pass, and of the server's update."""


def whole_step(compute: float = COMPUTE, update: float = UPDATE) -> None:
    """Takes a step during which no other trainer may."""
    rpc.rpc_sync(SERVER, acquire)
    weights = rpc.rpc_sync(SERVER, pull)
    gradient = gradient_of(weights, compute)
    rpc.rpc_sync(SERVER, push, args=(gradient, update))
    rpc.rpc_sync(SERVER, release)


def update_alone(compute: float = COMPUTE, update: float = UPDATE) -> None:
    """Takes a step whose update nobody else may take meanwhile."""
    weights = rpc.rpc_sync(SERVER, pull)
    gradient = gradient_of(weights, compute)
    rpc.rpc_sync(SERVER, push_locked, args=(gradient, update))


WAYS: dict[str, Callable[[float, float], None]] = {"whole step": whole_step, "update alone": update_alone}
"""What the lock is held for."""


def seconds(way: str, trainers: int, steps: int, compute: float = COMPUTE, update: float = UPDATE) -> float:
    """Returns the mean seconds in which each trainer takes so many steps, calls free; all begin together.

    Alone in its step, a trainer waits for all others. Otherwise they wait for one another's updates: in the first step,
    where all arrive at once, and later only if the server has no time left. Raises ValueError if ``way`` is none of
    `WAYS`.
    """
    match way:
        case "whole step":
            return trainers * (compute + update)
        case "update alone":
            first = compute + trainers * update
            return max(first + (steps - 1) * (compute + update), compute + steps * trainers * update) / steps
    raise ValueError(f"a way is one of {', '.join(WAYS)}, got {way!r}")


def measured(trainers: int = 4, steps: int = 5, repeats: int = 5) -> dict[str, Measurement]:
    """Returns the seconds in which each of so many trainers takes a step, the mean of ``steps``, by the way.

    Ways take turns. Raises WorkerError where the model is not what was pushed.
    """
    with tempfile.TemporaryDirectory() as folder, Workers(trainers + 1) as crew:
        crew.run(join, trainers + 1, str(Path(folder) / "rpc"), timeout=LIMIT)
        turns: list[str] = []

        def slowest(way: str) -> float:
            turns.append(way)
            spans = [span for span in crew.run(clocked, way, steps, timeout=LIMIT) if span]
            return max(end for _, end in spans) - min(begin for begin, _ in spans)

        found = interleave({way: partial(slowest, way) for way in WAYS}, repeats)
        crew.run(leave, len(turns) * steps * trainers, timeout=LIMIT)
    here = environment("cpu")
    return {way: found[way].per_call(f"a step, the lock for the {way}", steps, here) for way in WAYS}


def gradient_of(weights: Tensor, compute: float) -> Tensor:
    """Returns a gradient of ones, after so many seconds."""
    sleep(compute)
    return torch.ones_like(weights)


# In the processes of a crew; the last one is the server.


def join(rank: int, world_size: int, file: str) -> None:
    """Has a process join the others; listens on loopback only."""
    [loopback] = (name for _, name in socket.if_nameindex() if name in ("lo", "lo0"))
    os.environ["GLOO_SOCKET_IFNAME"] = os.environ["TP_SOCKET_IFNAME"] = loopback
    warnings.filterwarnings("ignore", message="You are using a Backend")  # RPC's own code does
    options = rpc.TensorPipeRpcBackendOptions(
        init_method=f"file://{file}", rpc_timeout=LIMIT, _transports=["uv"], _channels=["basic"]
    )
    name = SERVER if rank == world_size - 1 else f"trainer{rank}"
    rpc.init_rpc(name, rank=rank, world_size=world_size, rpc_backend_options=options)


def clocked(rank: int, way: str, steps: int) -> tuple[float, float] | None:
    """Returns when a trainer's steps begin and end, by the clock of the machine; None of the server."""
    if rpc.get_worker_info().name == SERVER:
        return None
    begin = perf_counter()
    for _ in range(steps):
        WAYS[way](COMPUTE, UPDATE)
    return begin, perf_counter()


def leave(rank: int, pushes: int) -> None:
    """Ends what a process has joined. Raises ArithmeticError where the model is not the sum of so many pushes."""
    total = rpc.rpc_sync(SERVER, pull)
    rpc.shutdown()
    if not bool((total == pushes).all()):
        raise ArithmeticError(f"{pushes} pushes of ones add up to {total.unique().tolist()}")


_weights = torch.zeros(1000)
_lock = threading.Lock()
_inside = 0
"""How many are changing the weights."""


def acquire() -> None:
    """Waits for the lock, which another of the server's threads may release."""
    _lock.acquire()


def release() -> None:
    _lock.release()


def pull() -> Tensor:
    """Returns the weights as they are."""
    return _weights.clone()


def push(gradient: Tensor, update: float) -> None:
    """Adds a gradient, which takes so many seconds. Raises RuntimeError where another is at it."""
    global _inside
    _inside += 1
    if _inside > 1:
        raise RuntimeError(f"{_inside} trainers change the weights at the same time")
    sleep(update)
    _weights.add_(gradient)
    _inside -= 1


def push_locked(gradient: Tensor, update: float) -> None:
    """Adds a gradient when nobody else does."""
    with _lock:
        push(gradient, update)
