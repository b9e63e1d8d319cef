"""A training whose workers note what they do, and the harm that is done to it meanwhile: `dlperf.servers.live` does it.

The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from math import inf
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, Self

from dlperf.kvstore import local, processes
from dlperf.kvstore.history import Addition, Read, objections
from dlperf.servers import live_worker
from dlperf.servers.timeline import Answer, Event, Seen, Timeline, read, shifted

SERVERS, WORKERS = 3, 2
WAIT = 90.0
"""So many seconds at most does anything take that is waited for."""


class Training(AbstractContextManager):
    """Workers that train until the block ends, wherever they run, and the harm that is done meanwhile."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.answers: list[Answer] = []
        self.refused: list[dict[str, int]] = []
        self.failed: Callable[[], bool] = lambda: False  # whether it has ended before it was told to
        self._folder = tempfile.TemporaryDirectory(prefix="training-")
        self.folder = Path(self._folder.name)

    def lines(self) -> list[list[Any]]:
        """Returns what all workers have noted so far."""
        files = (live_worker.note_of(self.folder, worker) for worker in range(WORKERS))
        return [line for file in files for line in live_worker.lines(file)]

    def acknowledged(self, worker: int, since: float = 0.0) -> int:
        """Returns how many pushes of a worker have been acknowledged later than at a moment."""
        return sum(line[:2] == ["acknowledged", worker] and line[2] > since for line in self.lines())

    def is_acknowledged(self, worker: int, since: float = 0.0) -> bool:
        """Returns whether a push of a worker has been acknowledged later than at a moment."""
        return self.acknowledged(worker, since) > 0

    def seen(self) -> Sequence[Seen]:
        """Returns the views that workers have had so far."""
        return read(self.lines())[1]

    def view(self) -> Seen:
        """Returns the latest view that a worker has."""
        return max(self.seen(), key=lambda seen: seen.epoch)

    def harm(self, what: str, who: str, fn: Callable[..., Any], *args: Any) -> float:
        """Does something to somebody, and notes it; returns when."""
        moment = time.monotonic()
        fn(*args)
        self.events.append(Event(moment, what, who))
        return moment

    def stop(self) -> None:
        (self.folder / "stop").touch()

    def timeline(self, sums: Sequence[Sequence[int]]) -> Timeline:
        """Returns all that happened; ``sums`` are the places of each layer that are there at the end."""
        lines = self.lines()
        pushes, seen = read(lines)
        additions = [Addition(push.place, push.begin, push.counted) for push in pushes]
        reads = [line[2:] for line in lines if line[0] == "read"] + [[time.monotonic(), time.monotonic(), sums]]
        found = [
            f"layer {layer}: {each}"
            for layer in range(len(sums))
            for each in objections(additions, [Read(_values(v[layer]), a, b) for a, b, v in reads])
        ]
        acknowledged = {push.place for push in pushes if push.acknowledged < inf}
        found += [
            f"layer {layer}: place {place} was acknowledged, and is not there at the end"
            for layer, places in enumerate(sums)
            for place in sorted(acknowledged - set(places))
        ]
        whole = Timeline(
            tuple(pushes), tuple(self.events), tuple(seen), tuple(map(len, sums)), tuple(found),
            tuple(self.answers), tuple(self.refused),
        )  # fmt: skip
        return shifted(whole, min(whole.acknowledged))

    def __exit__(self, *_: object) -> None:
        self._folder.cleanup()


class Processes(Training):
    """Workers that are processes on this machine, beside a cluster."""

    def __init__(self, cluster: local.Cluster) -> None:
        super().__init__()
        self.cluster = cluster
        self.workers: dict[int, BaseProcess] = {}

    def __enter__(self) -> Self:
        try:
            for worker in range(WORKERS):
                self.start(worker)
            wait(lambda: self._has_failed() or all(map(self.is_acknowledged, range(WORKERS))))
            if self._has_failed():
                raise RuntimeError(f"a worker has ended at once: {self.cluster.words()[-2000:]}")
        except BaseException:
            self.__exit__()
            raise
        return self

    def _has_failed(self) -> bool:
        return any(process.exitcode is not None for process in self.workers.values())

    def start(self, worker: int) -> None:
        """Starts a worker's process, again if it has been killed."""
        told = self.cluster.file.read_bytes(), worker, str(self.folder)
        self.workers[worker] = processes.start(live_worker.train, *told, said=self.cluster.said)

    def kill(self, worker: int) -> None:
        processes.end(self.workers[worker])

    def join(self) -> None:
        """Returns when all workers have ended; raises RuntimeError where one has failed."""
        self.stop()
        for worker, process in self.workers.items():
            process.join(WAIT)
            if process.exitcode != 0:
                raise RuntimeError(f"worker {worker} ended with {process.exitcode}: {self.cluster.words()[-2000:]}")

    def __exit__(self, *error: object) -> None:
        for process in self.workers.values():
            processes.end(process)
        super().__exit__(*error)


def has_copies(training: Training) -> bool:
    """Returns whether each range has two servers, by the latest view that a worker has."""
    return all(len(chain) == 2 for chain in training.view().chains)


def wait(until: Callable[[], bool], limit: float = WAIT) -> None:
    """Returns when something is so; raises TimeoutError where it takes too long."""
    end = time.monotonic() + limit
    while not until():
        if time.monotonic() > end:
            raise TimeoutError(f"what was waited for has not come in {limit:g} s")
        time.sleep(0.02)


def _values(places: Sequence[int]) -> tuple[int, ...]:
    values = [0] * (WORKERS * live_worker.STEPS)
    for place in places:
        values[place] += 1
    return tuple(values)
