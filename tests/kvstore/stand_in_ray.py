"""A stand-in for Ray in one process: an actor is an object with a thread and an event loop of its own.

It has what `dlperf.kvstore` asks of Ray. Arguments and answers are copied, as between processes. Who is killed answers
no call any more; unless it is for ever, another is made in its place.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from dlperf.kvstore.ray_messages import ray
from tests.processes import DEADLINE_S

Key = tuple[str, str]


def copied(value: Any) -> Any:
    """Returns what another process would get."""
    return pickle.loads(pickle.dumps(value, protocol=5))


class Handle:
    """An actor of a kind, made of arguments in its own loop; attributes are its methods, each with ``remote``."""

    def __init__(self, kind: Callable[..., Any], restarts: int, arguments: tuple[Any, ...]) -> None:
        self.kind, self.restarts, self.arguments = kind, restarts, copied(arguments)
        self.calls = set[Future[Any]]()
        self.lives = 0
        self.is_up = False
        self._start()

    def _start(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name=self.kind.__name__, daemon=True)
        self.thread.start()
        self.lives += 1
        self.actor = asyncio.run_coroutine_threadsafe(self._make(), self.loop).result(DEADLINE_S)
        self.is_up = True

    async def _make(self) -> Any:
        return self.kind(*self.arguments)

    def __getattr__(self, method: str) -> SimpleNamespace:
        return SimpleNamespace(remote=lambda *given: self._call(method, copied(given)))

    async def _call(self, method: str, given: tuple[Any, ...]) -> Any:
        """Awaits a method in the actor's loop; RayActorError where it does not live to answer."""
        if not self.is_up:
            raise ray.exceptions.RayActorError
        call = asyncio.run_coroutine_threadsafe(getattr(self.actor, method)(*given), self.loop)
        self.calls.add(call)
        try:
            return copied(await asyncio.wrap_future(call))
        except asyncio.CancelledError:
            if call.cancelled() and not asyncio.current_task().cancelling():  # type: ignore[union-attr]
                raise ray.exceptions.RayActorError from None
            raise
        finally:
            self.calls.discard(call)

    def end(self, for_ever: bool) -> None:
        """Ends it, whatever it is at; makes another in its place where it may be restarted."""
        self.is_up = False
        asyncio.run_coroutine_threadsafe(_cancel_others(), self.loop).result(DEADLINE_S)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(DEADLINE_S)
        assert not self.thread.is_alive(), f"{self.kind.__name__} does not end"
        self.loop.close()
        for file in filter(None, [getattr(self.actor, "lock", None)]):  # as the end of a process closes it
            file.close()
        if not for_ever and self.restarts:
            self._start()


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


class Ray:
    """What stands for the module ``ray``; also for its ``util``, whose strategies it does not follow."""

    def __init__(self) -> None:
        self.actors: dict[Key, Handle] = {}
        self.places: list[Any] = []
        self.exceptions, self.util = ray.exceptions, self

    def is_initialized(self) -> bool:
        return True

    def get_runtime_context(self) -> SimpleNamespace:
        return SimpleNamespace(get_node_id=lambda: "here")

    def placement_group(self, bundles: list[dict[str, float]], strategy: str) -> Any:
        self.places.append((bundles, strategy))
        return self.places[-1]

    def remove_placement_group(self, places: Any) -> None:
        self.places.remove(places)

    def remote(self, kind: Callable[..., Any]) -> SimpleNamespace:
        def options(name: str, namespace: str, max_restarts: int, **_: Any) -> SimpleNamespace:
            def make(*arguments: Any) -> Handle:
                if (namespace, name) in self.actors:
                    raise ValueError(f"the name {name} is taken")
                self.actors[namespace, name] = Handle(kind, max_restarts, arguments)
                return self.actors[namespace, name]

            return SimpleNamespace(remote=make)

        return SimpleNamespace(options=options)

    def get_actor(self, name: str, namespace: str) -> Handle:
        if (namespace, name) not in self.actors:
            raise ValueError(f"there is no actor {name}")
        return self.actors[namespace, name]

    def kill(self, actor: Handle, no_restart: bool = True) -> None:
        for_ever = no_restart or not actor.restarts
        if for_ever:
            self.actors = {key: each for key, each in self.actors.items() if each is not actor}
        actor.end(for_ever)


def fail(status: int) -> None:
    """Stands for `os._exit`: an actor whose process would end says so, and the tests' process goes on."""
    raise RuntimeError(f"an actor's process would end with {status}, in process {os.getpid()}")
