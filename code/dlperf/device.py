"""Which devices are here, and waiting for them. One place asks; everything else is told."""

from __future__ import annotations

import torch


def try_gpu(i: int = 0) -> torch.device:
    """Returns GPU ``i`` if it exists, else the CPU.

    Raises ValueError for a negative index, which would silently mean the CPU.
    """
    if i < 0:
        raise ValueError(f"a device index counts from 0, got {i}")
    if i < torch.cuda.device_count():
        return torch.device("cuda", i)
    return torch.device("cpu")


def try_all_gpus() -> list[torch.device]:
    """Returns every GPU, or ``[cpu]`` without one: never an empty list."""
    return [torch.device("cuda", i) for i in range(torch.cuda.device_count())] or [torch.device("cpu")]


def synchronize(*devices: torch.device | str) -> None:
    """Waits until all work queued on ``devices`` is done; without any, on every GPU here.

    On a CPU PyTorch computes before it returns, so there is nothing to wait for.
    """
    for device in map(torch.device, devices or try_all_gpus()):
        if device.type == "cuda":
            torch.cuda.synchronize(device)


def describe(device: torch.device | str) -> str:
    """Returns what a reader would call the device, such as ``NVIDIA H200`` or ``CPU, 2 threads``."""
    device = torch.device(device)
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    threads = torch.get_num_threads()
    return f"CPU, {threads} thread{'s' * (threads > 1)}"
