"""A worker that pushes and reads all the time, and notes what it did and when."""

from __future__ import annotations

import random
import threading
import time

import torch

from dlperf.kvstore import Store
from dlperf.kvstore.history import Addition, Read
from tests.processes import DEADLINE_S

PLACES = 5000
"""So many additions at most."""


class Busy:
    """A worker that pushes and reads in a thread until it is told to stop, and notes what it did and when."""

    def __init__(self, store: Store, places: range, seed: int, pause: float) -> None:
        self.store, self.places, self.chance = store, iter(places), random.Random(seed)
        self.pause = pause
        self.additions: list[Addition] = []
        self.reads: list[Read] = []
        self.error: BaseException | None = None
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def _work(self) -> None:
        try:
            while not self.stopping.is_set() and (place := next(self.places, None)) is not None:
                begin = time.monotonic()
                if self.chance.random() < 0.8:
                    one = torch.zeros(PLACES, dtype=torch.uint8)
                    one[place] = 1
                    self.store.push("k", one)
                    self.additions.append(Addition(place, begin, time.monotonic()))
                else:
                    self.read(begin, self.store.pull("k"))
                time.sleep(self.pause)
        except BaseException as error:
            self.error = error

    def read(self, begin: float, got: torch.Tensor) -> None:
        self.reads.append(Read(tuple(got.tolist()), begin, time.monotonic()))

    def stop(self) -> None:
        self.stopping.set()
        self.thread.join(DEADLINE_S)
        assert not self.thread.is_alive(), "it hangs"
        if self.error is not None:
            raise self.error
