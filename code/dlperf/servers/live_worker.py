"""A worker of a small training, that notes what it does and when in a file, so that a kill takes nothing back.

Its gradients are whole numbers, sums of which are exact: each adds 1 at a place of its own. `dlperf.servers.live` does
harm to it and to its servers; the chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch import Tensor

from dlperf.kvstore import Config, Store, connect
from dlperf.kvstore.placement import Ring

STEPS = 6000
"""So many steps can a worker take, and so many places has it in each layer."""

COMPUTE = 0.02
"""So many seconds does a step compute."""

EVERY = 10
"""After so many steps is what a worker has read put down."""


def layers(servers: int) -> list[str]:
    """Returns names of as many layers as servers, each of which holds one, so that a push needs them all."""
    ring, found = Ring(servers), dict[int, str]()
    names = (f"layer {number}" for number in count())
    while len(found) < servers:
        name = next(names)
        found.setdefault(ring.home(name), name)
    return [found[server] for server in range(servers)]


def train(told: bytes, worker: int, folder: str) -> None:
    """Trains until there is a file named stop in the folder; goes on where a former process of this worker was."""
    config, file = msgspec.json.decode(told, type=Config), note_of(Path(folder), worker)
    begun = sum(line[0] == "begin" for line in lines(file))
    with file.open("ab", buffering=0) as out, connect(config, worker) as store:
        note = lambda what, *more: out.write(json.dumps([what, worker, *more]).encode() + b"\n")
        keys = create(store)
        with watched(store, note):
            for step in range(begun, STEPS):
                if (Path(folder) / "stop").exists():
                    return
                one_step(store, keys, step, note)
    raise RuntimeError(f"worker {worker} was to be stopped before its {STEPS} steps were over")


def one_step(store: Store, keys: list[str], step: int, note: Callable[..., Any]) -> None:
    """Pulls the layers, computes, pushes gradients, and ends the round."""
    begin = time.monotonic()
    weights = store.pull(keys)
    if step % EVERY == 0:
        read = [layer.nonzero().flatten().tolist() for layer in weights]
        note("read", begin, time.monotonic(), read)
    time.sleep(COMPUTE)
    place = store.worker * STEPS + step
    gradients = [one_at(place, layer) for layer in weights]
    note("begin", time.monotonic(), place)
    store.push(keys, gradients)
    note("acknowledged", time.monotonic(), place)
    store.clock()
    note("counted", time.monotonic(), place)


def one_at(place: int, like: Tensor) -> Tensor:
    gradient = torch.zeros_like(like)
    gradient[place] = 1
    return gradient


def create(store: Store) -> list[str]:
    """Creates the layers; returns their names."""
    keys = layers(len(store.config.servers))
    for key in keys:
        store.create(key, torch.zeros(store.config.workers * STEPS, dtype=torch.uint8))
    return keys


@contextmanager
def watched(store: Store, note: Callable[..., Any]) -> Iterator[None]:
    """Notes each epoch that the worker learns of, from a thread: the worker itself may be waiting for a server."""
    stopping = threading.Event()

    def watch() -> None:
        known = -1
        while not stopping.wait(0.005):
            view = store.view
            if view.epoch > known:
                known = view.epoch
                note("seen", time.monotonic(), known, view.chains, view.dropped)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()


def last_sums(told: bytes, worker: int = 0) -> list[list[int]]:
    """Returns the places of each layer that are not 0, each as often as it counts, when all workers have ended."""
    with connect(msgspec.json.decode(told, type=Config), worker) as store:
        values = store.pull(create(store))
        return [torch.arange(len(v)).repeat_interleave(v.long()).tolist() for v in values]


def note_of(folder: Path, worker: int) -> Path:
    """Returns the file of a worker's notes."""
    return folder / f"worker-{worker}.jsonl"


def lines(file: Path) -> list[list[Any]]:
    """Returns the whole lines of a worker's notes: the last may be half written."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_bytes().rpartition(b"\n")[0].splitlines()]
