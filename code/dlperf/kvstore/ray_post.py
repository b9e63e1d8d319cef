"""Letters between actors of Ray, each a header's bytes and those of tensors: one call at a time to each actor.

Ray runs the calls of an asynchronous actor as their arguments come, so a small one overtakes a large one. One call at
a time keeps the order; what is to be sent meanwhile goes with the next call.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pickle import PickleBuffer
from typing import Any

from dlperf.kvstore import wire
from dlperf.kvstore.config import Config

__all__ = ["Letter", "Post", "find", "letter", "namespace", "ray", "strategies"]

try:
    import ray
    import ray.util.scheduling_strategies as strategies
except ImportError:
    raise ImportError("ray is not installed: pip install '.[ray]' in the book's folder brings it") from None

QUEUE = 64
"""So many letters wait for each actor or worker; what is too much is lost, and sent again by who lacks an answer."""

Letter = list[Any]
"""A header and frames. Ray copies them into its shared memory as they are; the receiver has views of that."""


def letter(message: wire.Message, frames: Sequence[Any] = ()) -> Letter:
    """Returns a message and its frames as Ray carries them."""
    return [wire.encode(message), *(PickleBuffer(frame) for frame in frames)]


def namespace(config: Config) -> str:
    """Returns where in Ray the names of a cluster's actors are its own."""
    return f"dlperf.kvstore {config.scheduler}"


def find(config: Config, to: int | None) -> Any:
    """Returns the actor of a server, by its number, or of the scheduler (None); ValueError where there is none yet."""
    return ray.get_actor("scheduler" if to is None else f"server {to}", namespace(config))


class Post:
    """What sends ``me``'s letters, in an event loop; ``find`` finds an actor, or raises ValueError."""

    def __init__(self, me: Any, find: Callable[[int | None], Any]) -> None:
        self.me, self.find = me, find
        self.actors: dict[int | None, Any] = {}
        self.waiting: dict[int | None, deque[Letter]] = {}
        self.under_way: dict[int | None, asyncio.Task[None]] = {}

    def send(self, to: int | None, sent: Letter) -> None:
        """Has a letter sent to a server, or to the scheduler (None)."""
        queue = self.waiting.setdefault(to, deque())
        if len(queue) < QUEUE:
            queue.append(sent)
        if to not in self.under_way:
            self.under_way[to] = asyncio.get_running_loop().create_task(self._carry(to))

    async def _carry(self, to: int | None) -> None:
        queue = self.waiting[to]
        while queue:
            letters = list(queue)
            queue.clear()
            with suppress(ray.exceptions.RayError, ValueError):  # it is down, or not up yet
                if to not in self.actors:
                    self.actors[to] = self.find(to)
                await self.actors[to].take.remote(self.me, letters)
        del self.under_way[to]
