"""Find the available GPUs, or else the CPU, tell their kinds apart, and synchronize with them.

One place asks which devices there are; everything else is told.

A *GPU* is what PyTorch calls an accelerator: a CUDA device, or Apple's ``mps`` or Intel's ``xpu``. What only CUDA
has, such as a graph of launches, asks `needs_cuda`.
"""

from __future__ import annotations

import torch


def try_gpu(i: int = 0) -> torch.device:
    """Returns GPU ``i`` if it exists, else the CPU.

    Raises ValueError if the index is negative, which would silently mean the CPU.
    """
    if i < 0:
        raise ValueError(f"a device index counts from 0, got {i}")
    devices = try_all_gpus()
    return devices[i] if i < len(devices) else torch.device("cpu")


def try_all_gpus() -> list[torch.device]:
    """Returns every GPU, or ``[cpu]`` without one: never an empty list."""
    kind = torch.accelerator.current_accelerator() or torch.device("cpu")  # what PyTorch was built for, here or not
    return [torch.device(kind.type, i) for i in range(torch.accelerator.device_count())] or [torch.device("cpu")]


def synchronize(*devices: torch.device | str) -> None:
    """Waits until all work queued on ``devices`` is done; without any, on every GPU here.

    On a CPU PyTorch computes before it returns, so there is nothing to wait for.
    """
    for device in map(torch.device, devices or try_all_gpus()):
        if is_gpu(device):
            torch.accelerator.synchronize(device)


def is_gpu(device: torch.device | str) -> bool:
    """Returns whether the device is a GPU of whichever maker: it has a queue of its own, and is waited for."""
    return torch.device(device).type != "cpu"


def has_cuda(device: torch.device | str) -> bool:
    """Returns whether the device is one of CUDA's, AMD's under ROCm among them."""
    return torch.device(device).type == "cuda"


def needs_cuda(device: torch.device | str, what: str) -> torch.device:
    """Returns ``device`` if it is one of CUDA's; ValueError says ``what`` needs it, and what the device is."""
    if not has_cuda(device):
        raise ValueError(f"{what} needs a CUDA device, got {torch.device(device)}: {describe(device)}")
    return torch.device(device)


def describe(device: torch.device | str) -> str:
    """Returns what a reader would call the device, such as ``NVIDIA H200`` or ``CPU, 2 threads``."""
    device = torch.device(device)
    if device.type == "cpu":
        threads = torch.get_num_threads()
        return f"CPU, {threads} thread{'s' * (threads > 1)}"
    if device.type == "mps":  # there is one, and PyTorch asks the system for its name elsewhere
        return torch.backends.mps.get_name()
    module = torch.get_device_module(device)
    return module.get_device_name(device) if hasattr(module, "get_device_name") else device.type.upper()
