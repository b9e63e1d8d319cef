"""Messages as Ray carries them between actors: a header's bytes and those of tensors, one call at a time to each actor.

Ray begins calls of an asynchronous actor as their arguments come, so a small one overtakes a large one, and after an
error nobody knows whether a call was run, or will be. One call at a time keeps the order as long as none fails; what
is to be sent meanwhile goes with the next call. Beyond that, nothing relies on order: see `dlperf.kvstore.replica`.
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

__all__ = ["Address", "Packet", "Sender", "find", "namespace", "pack", "ray", "strategies"]

try:
    import ray
    import ray.util.scheduling_strategies as strategies
except ImportError:
    raise ImportError("ray is not installed: pip install '.[ray]' in the book's folder brings it") from None

QUEUE = 64
"""So many messages wait for each actor or worker; what is too much is lost, and sent again by who lacks an answer."""

Packet = list[Any]
"""A header and frames. Ray copies them into its shared memory as they are; the receiver has views of that."""

Address = bytes | tuple[int, int] | None
"""Who sends: a worker's process, by its name; a server, by its number and run; or the scheduler (None)."""


def pack(message: wire.Message, frames: Sequence[Any] = ()) -> Packet:
    """Returns a message and its frames as Ray carries them."""
    return [wire.encode(message), *(PickleBuffer(frame) for frame in frames)]


def namespace(config: Config) -> str:
    """Returns where in Ray the names of a cluster's actors are its own."""
    return f"dlperf.kvstore {config.scheduler}"


def find(config: Config, to: int | None) -> Any:
    """Returns the actor of a server, by its number, or of the scheduler (None); ValueError where there is none yet."""
    return ray.get_actor("scheduler" if to is None else f"server {to}", namespace(config))


class Sender:
    """Sends ``me``'s messages, in an event loop; ``find`` finds an actor by its number, or raises ValueError."""

    def __init__(self, me: Address, find: Callable[[int | None], Any]) -> None:
        self.me, self.find = me, find
        self.actors: dict[int | None, Any] = {}
        self.waiting: dict[int | None, deque[Packet]] = {}
        self.under_way: dict[int | None, asyncio.Task[None]] = {}
        self.unsent = 0
        """So many messages were dropped because `QUEUE` others waited."""

    def send(self, to: int | None, packet: Packet) -> None:
        """Has a message sent to a server, by its number, or to the scheduler (None); returns at once."""
        queue = self.waiting.setdefault(to, deque())
        if len(queue) < QUEUE:
            queue.append(packet)
        else:
            self.unsent += 1
        if to not in self.under_way:
            self.under_way[to] = asyncio.get_running_loop().create_task(self._deliver(to))

    async def _deliver(self, to: int | None) -> None:
        queue = self.waiting[to]
        while queue:
            packets = list(queue)
            queue.clear()
            try:
                if to not in self.actors:
                    self.actors[to] = self.find(to)
                await self.actors[to].take.remote(self.me, packets)
            except (ray.exceptions.RayError, ValueError):  # it is down, or not up yet
                self.actors.pop(to, None)
        del self.under_way[to]

    async def flush(self, to: int | None, seconds: float) -> None:
        """Returns when an actor has taken all that waits for it, or after so many seconds."""
        if task := self.under_way.get(to):
            with suppress(TimeoutError):
                await asyncio.wait_for(task, seconds)
