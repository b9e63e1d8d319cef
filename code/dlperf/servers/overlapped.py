"""Gradients on their way to a server while others are still being computed, over a link of 1 Gbit/s.

The chapter *Parameter servers* has it as an exercise.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, sleep

import msgspec
import torch
from torch import Tensor

from dlperf.environment import environment
from dlperf.kvstore import Config, Store, connect, security
from dlperf.measurement import Measurement
from dlperf.network import Network
from dlperf.servers import goodput, hosts
from dlperf.turns import new_pairing_id

Backward = Callable[[int], Tensor]
"""Returns the gradient of a layer, when it has been computed."""


def train_step(store: Store, keys: list[str], backward: Backward) -> None:
    """Pushes each layer's gradient as soon as it is there."""
    pushes = []
    for layer, key in enumerate(keys):
        gradient = backward(layer)
        pushes.append(store.start_push(key, gradient))  # at once
    for push in pushes:
        push.wait()


def late_step(store: Store, keys: list[str], backward: Backward) -> None:
    """Pushes all gradients when the last is there."""
    store.push(keys, [backward(layer) for layer in range(len(keys))])


STEPS = {"late": late_step, "early": train_step}


def predict(layers: int, compute: float, send: float) -> dict[str, float]:
    """Returns the seconds of each of `STEPS`, if all gradients take so long to compute, and so long to send."""
    return {"late": compute + send, "early": max(compute, send) + min(compute, send) / layers}


def work(rank: int, told: bytes, layers: int, size: int, compute: float, repeats: int) -> dict[str, list[float]]:
    """Returns the seconds of each step on the worker's host; the server's returns none."""
    found: dict[str, list[float]] = {way: [] for way in STEPS}
    if rank == 0:
        return found
    with connect(msgspec.json.decode(told, type=Config), 0) as store:
        keys = [f"layer {layer}" for layer in range(layers)]
        gradients = [torch.ones(size // 4) for _ in keys]
        for key, gradient in zip(keys, gradients, strict=True):
            store.create(key, torch.zeros_like(gradient))

        def backward(layer: int) -> Tensor:
            sleep(compute / layers)
            return gradients[layer]

        for turn in range(repeats + 1):
            for way, step in STEPS.items():
                start = perf_counter()
                step(store, keys, backward)
                if turn:  # the first warms up
                    found[way].append(perf_counter() - start)
        if any(not bool((store.pull(key) == 2 * (repeats + 1)).all()) for key in keys):
            raise ArithmeticError("the store has not what was pushed")
    return found


def measured(layers: int = 8, size: int = 2**21, repeats: int = 5) -> tuple[Measurement, Measurement, dict[str, float]]:
    """Returns the seconds of a late step and of an early one, in turn, and what `predict` says of both.

    Gradients of ``size`` bytes each take as long to compute as a link takes to send them. Raises
    `dlperf.network.Unavailable` where there can be no network.
    """
    send = layers * size * hosts.BETA
    with tempfile.TemporaryDirectory() as folder, Network(2) as network:
        keys = security.make_keys(Path(folder) / "keys")
        told = msgspec.json.encode(goodput.config(1, 1, str(keys), staleness=None))
        network.run(hosts.start, told, timeout=300)
        found = network.run(work, told, layers, size, send, repeats, timeout=300)[1]
    turns, here = new_pairing_id(), environment("cpu")
    late, early = (Measurement(tuple(found[way]), "s", f"{way} pushes", 1, here, turns) for way in STEPS)
    return late, early, predict(layers, send, send)
