"""A parameter server: a key-value store of tensors, on several machines, that workers push to and pull from.

    config = Config(scheduler="127.0.0.1:5570", servers=("127.0.0.1:5571",), workers=1)
    with local.Cluster(config):            # or, on each machine: python -m dlperf.kvstore serve ...
        with connect(config, worker=0) as store:
            store.create("w", torch.zeros(3), SGD(lr=0.1))
            store.push("w", gradient)
            store.clock()                  # the round ends
            w = store.pull("w")

The chapter *Parameter servers* tells its story. Roles are named as in Li et al., Scaling distributed machine learning
with the parameter server, OSDI 2014. What a worker's program needs is below; the rooms, from the inside out:

``updaters``     what a push does to a value
``items``        a part of a value
``ranges``       a range of keys, as a machine that operations drive
``placement``    which range a part belongs to
``membership``   which servers hold which range
``replica``      one server's replica, in its chain
``waiting``      operations of workers that are not answered yet
``copying``      a range on its way to a server that joins
``node``         a server, without its sockets
``scheduling``   the scheduler, without its socket
``client``       a worker, without its sockets
``wire``         the messages between workers and servers
``peers``        those between servers and the scheduler
``errors``       what can go wrong
``config``       what a cluster is told
``security``     who is let in
``journal``      ranges on disk
``files``        files of records, which are there as a whole or not at all
``metrics``      what a server is doing
``server``       a server's process
``scheduler``    the scheduler's process
``command``      what ``python -m dlperf.kvstore`` does
``requests``     what a worker's call asks of which range
``store``        a worker's end of the cluster, however connected
``connection``   the same over ZeroMQ
``processes``    processes that begin at once
``local``        a whole cluster on this machine
``ray_messages`` messages between actors of Ray
``ray_actors``   a server and the scheduler as actors of Ray
``ray_cluster``  all of them
``ray_store``    a worker's end of these
``ray_local``    a Ray on this machine
``history``      whether what happened could have happened one at a time
"""

from __future__ import annotations

try:
    import msgspec  # noqa: F401
    import prometheus_client  # noqa: F401
    import zmq  # noqa: F401
except ModuleNotFoundError as error:
    missing = f"{error.name} is not installed: pip install '.[kvstore]' in the book's folder brings it"
    raise ImportError(f"dlperf.kvstore needs more than dlperf: {missing}") from None

from importlib import import_module
from typing import Literal

from dlperf.kvstore import history, local
from dlperf.kvstore.config import Config, from_environment, read
from dlperf.kvstore.connection import Connection
from dlperf.kvstore.errors import Lost, Refused, StoreError, Unreachable
from dlperf.kvstore.store import Pending, Store
from dlperf.kvstore.updaters import SGD, Adam, Momentum, Sum, Updater

__all__ = [
    "SGD",
    "Adam",
    "Config",
    "Lost",
    "Momentum",
    "Pending",
    "Refused",
    "Store",
    "StoreError",
    "Sum",
    "Unreachable",
    "Updater",
    "connect",
    "from_environment",
    "history",
    "local",
    "read",
]


def connect(config: Config, worker: int, backend: Literal["zmq", "ray"] = "zmq") -> Store:
    """Returns the store as worker number ``worker`` sees it. Raises `Unreachable` where no scheduler answers.

    With the ``backend`` "ray", servers are actors, which `dlperf.kvstore.ray_cluster` starts; raises ImportError where
    Ray is not installed.
    """
    if backend == "zmq":
        return Connection(config, worker)
    if backend != "ray":
        raise ValueError(f"a backend is 'zmq' or 'ray', got {backend!r}")
    # By its name and only here: Ray is an extra that takes a second to import, and no record is stale because of it.
    store: Store = import_module("dlperf.kvstore.ray_store").RayStore(config, worker)
    return store
