"""A process for each device, joined into one process group: GPUs where there are enough of them, else cores.

The chapter *Training on multiple GPUs, from scratch* is the first that needs it.

    with Group(2) as group:
        group.run(train, batch)  # train(rank, 2, batch) in each process, a function of a module
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, Self

import torch
import torch.distributed as dist

from dlperf.device import is_gpu, try_all_gpus
from dlperf.workers import Workers, own_cores


class Group(AbstractContextManager):
    """``world_size`` processes, each with a device and a thread of its own, in one process group; a context manager.

    The processes stay from call to call, and with them what their modules keep. They end with the block. With
    ``among`` they get GPUs only where there are so many, as a larger group would need: so that both compute alike.
    """

    def __init__(self, world_size: int, among: int = 0) -> None:
        self.world_size, self.among = world_size, among
        self._workers = Workers(world_size, own_cores(world_size))
        self._open = ExitStack()

    def __enter__(self) -> Self:
        folder = self._open.enter_context(tempfile.TemporaryDirectory())  # as long as a group of some may be made
        self._open.enter_context(self._workers)
        try:
            self._workers.run(join, self.world_size, str(Path(folder) / "store"), self.among)
        except BaseException:
            self._open.close()
            raise
        return self

    def run(self, fn: Callable[..., Any], *args: Any, timeout: float | None = 300) -> list[Any]:
        """Returns ``fn(rank, world_size, *args)`` of every process, in order; all begin at once.

        Raises WorkerError with the traceback of the first that fails, and TimeoutError after ``timeout`` seconds;
        both end the group.
        """
        return self._workers.run(fn, self.world_size, *args, timeout=timeout)

    def __exit__(self, *error: Any) -> None:
        self._open.__exit__(*error)


_among = [0]
"""In a process of a group: among so many devices it was to be, at least."""


def device_of(rank: int, world_size: int) -> torch.device:
    """Returns the device of a process: GPU ``rank`` where there is one for each, else the CPU."""
    gpus = [device for device in try_all_gpus() if is_gpu(device)]
    return gpus[rank] if len(gpus) >= max(world_size, *_among) else torch.device("cpu")


def join(rank: int, world_size: int, store: str, among: int = 0) -> None:
    """Joins the process group of all that name the same new file as their ``store``; once is enough."""
    if dist.is_initialized():
        return
    _among[:] = [among]
    device = device_of(rank, world_size)
    if is_gpu(device):
        torch.accelerator.set_device_index(device.index)
    dist.init_process_group(backend_of(device), init_method=f"file://{store}", rank=rank, world_size=world_size)


def backend_of(device: torch.device) -> str:
    """Returns which of PyTorch's backends joins processes whose devices are of this kind."""
    return dist.get_default_backend_for_device(device)
