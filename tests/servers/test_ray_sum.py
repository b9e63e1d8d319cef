"""Adding up by Ray's object store, on a stand-in for Ray: the workers' sum is right in every round, by each way.

The seconds on a Ray that runs are measured in `tests/long`.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import ray.util.scheduling_strategies as strategies

from tests.processes import DEADLINE_S
from tests.servers import ray_sum


class Stored:
    """What is in the object store, which nobody changes."""

    def __init__(self, value: np.ndarray) -> None:
        self.value = value.copy()
        self.value.flags.writeable = False


class Ray:
    """A stand-in for Ray: actors are objects whose methods run in threads, those that are asynchronous in one loop."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.pool, self.loop = ThreadPoolExecutor(), asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    @contextmanager
    def nodes(self, count: int, **asked: Any) -> Iterator[None]:
        self.asked.append(asked)
        self.names = [f"node {number}" for number in range(count)]
        yield
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(DEADLINE_S)
        self.pool.shutdown()
        self.loop.close()

    def list_nodes(self) -> list[dict[str, str]]:
        return [{"NodeID": name} for name in self.names]

    def remote(self, kind: type) -> SimpleNamespace:
        def options(**asked: Any) -> SimpleNamespace:
            self.asked.append(asked)
            return SimpleNamespace(remote=lambda *given: Actor(self, kind(*given)))

        return SimpleNamespace(options=options)

    def put(self, value: np.ndarray) -> Stored:
        return Stored(value)

    def get(self, found: Any) -> Any:
        if isinstance(found, list):
            return [self.get(each) for each in found]
        return found.value if isinstance(found, Stored) else found.result(DEADLINE_S)


class Actor:
    """An object whose methods have a ``remote``; it gets what is stored, not where."""

    def __init__(self, ray: Ray, object_: Any) -> None:
        self.ray, self.object = ray, object_

    def __getattr__(self, name: str) -> SimpleNamespace:
        method = getattr(self.object, name)

        def call(*given: Any) -> Future[Any]:
            values = [each.value if isinstance(each, Stored) else each for each in given]
            if inspect.iscoroutinefunction(method):
                return asyncio.run_coroutine_threadsafe(method(*values), self.ray.loop)
            return self.ray.pool.submit(method, *values)

        return SimpleNamespace(remote=call)


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Ray:
    found = Ray()
    module = SimpleNamespace(remote=found.remote, put=found.put, get=found.get, nodes=found.list_nodes)
    monkeypatch.setitem(sys.modules, "ray", module)  # which is imported where it is used
    monkeypatch.setattr(ray_sum.ray_local, "nodes", found.nodes)
    monkeypatch.setattr(strategies, "NodeAffinitySchedulingStrategy", lambda node, soft: (node, soft))
    return found


def test_each_way_adds_up_as_often_as_asked(stand_in: Ray) -> None:
    with ray_sum.workers(4000) as actors:
        assert list(actors) == [ray_sum.BY_TCP, ray_sum.SHARED]
        for each in actors.values():
            seconds = [ray_sum.clocked(each) for _ in range(2)]
            assert min(seconds) > 0
            assert {worker.object.mine.sum() for worker in each} == {1000 * ray_sum.WORKERS}
    given, *asked = stand_in.asked
    assert given == {"memory": 24_000, "cpus": 1}
    assert [each["scheduling_strategy"] for each in asked] == [
        (f"node {place}", False) for places in ray_sum.NODES.values() for place in places
    ]


def test_a_wrong_sum_is_an_error(stand_in: Ray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_sum.Worker, "prepare", lambda self: self.mine.fill(2))
    with (
        ray_sum.workers(4) as actors,
        pytest.raises(ArithmeticError, match=r"the sum over 2 workers is 2, got \[4.0\]"),
    ):
        ray_sum.clocked(actors[ray_sum.BY_TCP])
