"""A Ray on this machine alone, for tests, for notebooks and for a first try: it listens on loopback, and is quiet."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any

from dlperf.kvstore.config import is_loopback

MIB = 2**20
LEAST = 80 * MIB
"""So many bytes of shared memory does Ray ask for at least."""

ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # where it is off, Ray takes loopback's address: on Linux, too
    "RAY_worker_niceness": "0",  # else actors have lower priority than whatever else runs, and miss their beats
    # On a busy machine what Ray starts takes longer than Ray waits for it.
    "RAY_gcs_server_port_wait_time_s": "300",
    "RAY_gcs_server_request_timeout_seconds": "300",
    "RAY_worker_register_timeout_seconds": "300",
    "RAY_health_check_timeout_ms": "60000",
    "RAY_health_check_initial_delay_ms": "60000",
}
"""What the environment says to what Ray starts."""


@contextmanager
def nodes(count: int = 1, memory: int = 128 * MIB, cpus: int = 2) -> Iterator[Any]:
    """A Ray of so many nodes, which begins with the block and ends with it; this process joins the first.

    Yields its `ray.cluster_utils.Cluster`, which can add and remove nodes. Each has so many processors, as Ray counts
    them, and ``memory`` bytes of shared memory. Ray's files are in a folder that is removed. Raises ImportError where
    there is no Ray, and RuntimeError where it would listen to others.
    """
    os.environ.update(ENVIRONMENT)
    with ExitStack() as open_:
        folder = tempfile.mkdtemp(prefix="ray-")  # short: Unix sockets, whose names have 107 letters, are in it
        open_.callback(shutil.rmtree, folder, ignore_errors=True)
        open_.callback(_restore, "RAY_TMPDIR", os.environ.get("RAY_TMPDIR"))
        os.environ["RAY_TMPDIR"] = folder
        ray = import_module("dlperf.kvstore.ray_messages").ray  # by its name: it says what to do where there is none
        ray._private.ray_constants.ENABLE_RAY_CLUSTER = False  # if it was imported before, it has read the environment
        from ray.cluster_utils import Cluster

        node: dict[str, Any] = {
            "num_cpus": cpus,
            "object_store_memory": max(memory, LEAST),
        }
        cluster = Cluster()
        open_.callback(cluster.shutdown)
        cluster.add_node(**node, include_dashboard=False)
        if not is_loopback(cluster.address):
            raise RuntimeError(f"Ray is to listen on loopback only, and listens on {cluster.address}")
        for _ in range(count - 1):
            cluster.add_node(**node)
        open_.callback(ray.shutdown)
        ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.ERROR)
        yield cluster


def _restore(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value
