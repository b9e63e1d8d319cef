"""A process for each device, all in one process group: GPUs where there are enough, else hosts, else cores.

The chapter *Training on multiple GPUs, from scratch* is the first that needs it.

    with devices(2) as crew:
        crew.run(train, batch)  # train(rank, 2, batch) in each process, a function of a module
"""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

import torch
import torch.distributed as dist

from dlperf.device import is_gpu, try_all_gpus
from dlperf.network import GIGABIT, Network, process_group, unavailable
from dlperf.workers import Workers, own_cores

TIMEOUT_S = 300.0
"""So many seconds a call may take in all processes."""

Run = Callable[..., list[Any]]
"""Calls ``fn(rank, world_size, *args)`` in every process and returns the answers in order of rank."""


class Group(AbstractContextManager):
    """``world_size`` processes, each with a device and a thread of its own, in one process group; a context manager.

    The processes stay from call to call, and with them what their modules keep. They end with the block.
    """

    def __init__(self, world_size: int) -> None:
        self.world_size = world_size
        on_gpus = is_gpu(device_of(0, world_size))  # the threads that feed a GPU need more than one core
        self._workers = Workers(world_size, [] if on_gpus else own_cores(world_size))
        self._open = ExitStack()

    def __enter__(self) -> Self:
        folder = self._open.enter_context(tempfile.TemporaryDirectory())  # as long as a group of some may be made
        self._open.enter_context(self._workers)
        try:
            self._workers.run(join, self.world_size, str(Path(folder) / "store"))
        except BaseException:
            self._open.close()
            raise
        return self

    def run(self, fn: Callable[..., Any], *args: Any, timeout: float | None = TIMEOUT_S) -> list[Any]:
        """Returns ``fn(rank, world_size, *args)`` of every process, in order; all begin at once.

        Raises WorkerError with the traceback of the first that fails, and TimeoutError after ``timeout`` seconds;
        both end the group.
        """
        return self._workers.run(fn, self.world_size, *args, timeout=timeout)

    def __exit__(self, *error: Any) -> None:
        if error[0] is None:
            with suppress(RuntimeError):  # a failure has ended them
                self._workers.run(leave, timeout=TIMEOUT_S)
        self._open.__exit__(*error)


@dataclass(frozen=True)
class Crew:
    """Processes in one process group. ``kind`` says what their devices are: "GPU", "host" or "core"."""

    run: Run
    kind: str

    def first(self, k: int) -> Crew:
        """Returns the first ``k`` processes alone: the others do not even import what these call."""
        return Crew(lambda fn, *args: self.run(_among, k, pickle.dumps((fn, args)))[:k], self.kind)


def _among(rank: int, world_size: int, k: int, call: bytes) -> Any:
    if rank >= k:
        return None
    fn, args = pickle.loads(call)
    return fn(rank, world_size, *args)


@contextmanager
def devices(k: int) -> Iterator[Crew]:
    """Yields ``k`` devices that one can `run` functions on: GPUs where there are so many, else `hosts`."""
    with processes(k) if is_gpu(device_of(0, k)) else hosts(k) as crew:
        yield crew


@contextmanager
def hosts(k: int, rate: float = GIGABIT) -> Iterator[Crew]:
    """Yields ``k`` hosts with links of ``rate`` B/s and a share of the cores each, whatever GPUs there are.

    Where the system makes no network namespaces, they are processes on one machine, whose link nothing limits.
    """
    if unavailable():
        with processes(k) as crew:
            yield crew
    else:
        with Network(k, rate) as network:
            network.run(process_group, k)
            network.run(make_groups, k)
            yield Crew(lambda fn, *args: network.run(fn, k, *args, timeout=TIMEOUT_S), "host")


@contextmanager
def processes(k: int) -> Iterator[Crew]:
    """Yields ``k`` devices of this machine: GPUs where there are so many, else a core each, and no link between."""
    with Group(k) as group:
        group.run(make_groups)
        yield Crew(group.run, "GPU" if is_gpu(device_of(0, k)) else "core")


def make_groups(rank: int, world_size: int) -> None:
    """Makes a process group of the first k processes for each k: all have to take part in that, also who is not in."""
    for k in range(1, world_size):
        first(k)


@cache
def first(k: int) -> Any:
    """Returns the process group of the first ``k`` processes, None if it is all: made by all, in the same order."""
    return None if k == dist.get_world_size() else dist.new_group(list(range(k)))


def device_of(rank: int, world_size: int) -> torch.device:
    """Returns the device of a process: GPU ``rank`` where there is one for each, else the CPU."""
    gpus = [device for device in try_all_gpus() if is_gpu(device)]
    return gpus[rank] if len(gpus) >= world_size else torch.device("cpu")


_joined: list[torch.device] = []
"""In a process of a `Group`: its device."""


def own_device() -> torch.device:
    """Returns the device whose tensors a process sends: that with which it joined a `Group`, and on a host the CPU."""
    return _joined[0] if _joined else torch.device("cpu")


def join(rank: int, world_size: int, store: str) -> None:
    """Joins the process group of all that name the same new file as their ``store``; once is enough."""
    if dist.is_initialized():
        return
    device = device_of(rank, world_size)
    if is_gpu(device):
        torch.accelerator.set_device_index(device.index)
    _joined[:] = [device]
    dist.init_process_group(backend_of(device), init_method=f"file://{store}", rank=rank, world_size=world_size)


def leave(rank: int) -> None:
    """Leaves the process group of GPUs, which would wait for a process that ends without."""
    if is_gpu(own_device()):
        dist.destroy_process_group()
        _joined.clear()


def backend_of(device: torch.device) -> str:
    """Returns which of PyTorch's backends joins processes whose devices are of this kind."""
    return dist.get_default_backend_for_device(device)
