"""A Ray on this machine alone, for tests, for notebooks and for a first try: it listens on loopback, and is quiet."""

from __future__ import annotations

import logging
import os
from typing import Any

from dlperf.kvstore.config import is_loopback

ALONE = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # where it is off, Ray takes loopback's address: on Linux, too
}
"""What the environment has to say when Ray is first imported."""


def start(memory: int = 2**28, cpus: int = 2) -> str:
    """Returns the address of a Ray that begins with this call and that this process has joined; `ray.shutdown` ends it.

    Its shared memory has so many bytes. Raises ImportError where there is no Ray, and RuntimeError where it was
    imported before `ALONE` was in the environment, and listens to others.
    """
    os.environ.update(ALONE)
    from dlperf.kvstore.ray_post import ray

    context: Any = ray.init(
        address="local",
        num_cpus=cpus,
        object_store_memory=max(memory, 80 * 2**20),
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    address = str(context.address_info["gcs_address"])
    if not is_loopback(address):
        ray.shutdown()
        raise RuntimeError(f"Ray listens on {address}, not on loopback: it was imported before ray_alone.start")
    return address
