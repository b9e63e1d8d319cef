"""A whole cluster as actors of Ray."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import Any, Self

import msgspec

from dlperf.kvstore.config import Config
from dlperf.kvstore.ray_actors import SchedulerActor, ServerActor
from dlperf.kvstore.ray_messages import namespace, ray, strategies

SHARE = 0.01
"""So much of a processor does a server ask Ray for: enough to be given a place; it uses what it needs."""


def config(servers: int = 1, workers: int = 1, **options: Any) -> Config:
    """Returns a cluster of actors; ``options`` are those of `Config`.

    Nobody listens on its addresses: that of the scheduler is a name which no other cluster has.
    """
    host = "127." + ".".join(map(str, os.urandom(3)))
    listening = tuple(f"{host}:{2 * server + 2}" for server in range(servers))
    return Config(scheduler=f"{host}:1", servers=listening, workers=workers, **options)


class Cluster(AbstractContextManager):
    """The actors of a configuration, on the Ray that this process has joined; a context manager.

    Servers are on as many of Ray's nodes as there are. The scheduler stays on this process's node: with the process
    all of them end. Ray starts the scheduler again only if there is a disk, without which it would know nothing of the
    cluster. Raises ValueError where actors of the same configuration run already.
    """

    def __init__(self, config: Config) -> None:
        self.config = config
        self.servers: list[Any] = []
        self.scheduler: Any = None

    def __enter__(self) -> Self:
        count = len(self.config.servers)
        # The strategy of actors that is called "SPREAD" puts two on one node although others have none.
        self._places = ray.util.placement_group([{"CPU": SHARE}] * count, strategy="SPREAD")
        told = msgspec.json.encode(self.config)
        try:
            self.scheduler = self._start(SchedulerActor, "scheduler", told, **self._here())
            for server in range(count):
                place = strategies.PlacementGroupSchedulingStrategy(self._places, placement_group_bundle_index=server)
                options = {"num_cpus": SHARE, "scheduling_strategy": place, "max_restarts": -1}
                self.servers.append(self._start(ServerActor, f"server {server}", told, server, **options))
        except BaseException:
            self.__exit__()
            raise
        return self

    def _here(self) -> dict[str, Any]:
        node = ray.get_runtime_context().get_node_id()
        again = -1 if self.config.disk else 0
        here = strategies.NodeAffinitySchedulingStrategy(node, soft=False)  # softly, it may come to be elsewhere
        return {"num_cpus": 0, "scheduling_strategy": here, "max_restarts": again}

    def _start(self, kind: Any, name: str, *told: Any, **options: Any) -> Any:
        concurrency = 1000 + self.config.workers  # each worker has one call that waits
        actor = ray.remote(kind).options(
            name=name, namespace=namespace(self.config), max_concurrency=concurrency, **options
        )
        return actor.remote(*told)

    def kill(self, server: int) -> None:
        """Ends a server's process at once, whatever it is at; Ray starts it again."""
        ray.kill(self.servers[server], no_restart=False)

    def kill_scheduler(self) -> None:
        """Ends the scheduler's process at once; Ray starts it again if there is a disk."""
        ray.kill(self.scheduler, no_restart=False)

    def __exit__(self, *_: object) -> None:
        for actor in (self.scheduler, *self.servers):
            if actor is not None:
                ray.kill(actor)
        ray.util.remove_placement_group(self._places)
