"""What ``torch._C`` has in a build with CUDA, for ``torch.cuda`` to call."""

from __future__ import annotations

import os
import warnings
from types import ModuleType, SimpleNamespace
from typing import Any

from simulated_cuda.library import checked, library
from simulated_cuda.streams import EventBase, Graph, stream_base

CLOCK = 1.98e9
"""Cycles per second of `torch.cuda._sleep`, an H200's."""


class Properties:
    """What PyTorch passes on of cudaGetDeviceProperties, as an H200 has it but for its memory."""

    name, major, minor, multi_processor_count = "NVIDIA H200", 9, 0, 132
    warp_size, max_threads_per_multi_processor, max_threads_per_block = 32, 2048, 1024
    L2_cache_size, regs_per_multiprocessor, is_integrated, is_multi_gpu_board = 62914560, 65536, 0, 0
    shared_memory_per_block, shared_memory_per_block_optin = 49152, 232448
    shared_memory_per_multiprocessor, gcnArchName, uuid = 233472, "NVIDIA H200", "0" * 8
    pci_bus_id, pci_device_id, pci_domain_id = 1, 0, 0
    memory_clock_rate, memory_bus_width, clock_rate = 3201000, 6144, 1980000

    def __init__(self, i: int) -> None:
        self.total_memory = library().sim_bytes(i, 3)


def give(c: ModuleType) -> None:
    """Gives the module ``torch._C`` what a build with CUDA has."""
    for name, value in {**_classes(c), **_devices(), **_waiting(), **_memory(), **_constants()}.items():
        setattr(c, name, value)


def _classes(c: ModuleType) -> dict[str, Any]:
    return {
        "_CudaStreamBase": stream_base(c),
        "_CudaEventBase": EventBase,
        "_CUDAGraph": Graph,
        "_CudaDeviceProperties": Properties,
        "_cuda_CUDAAllocator": type("_cuda_CUDAAllocator", (), {}),
        "_cuda_CUDAAllocator_AllocatorState": type("_cuda_CUDAAllocator_AllocatorState", (), {}),
    }


def _devices() -> dict[str, Any]:
    lib = library()

    def init() -> None:
        import torch

        if used := os.environ.get("SIMULATED_CUDA_USED"):
            with open(used, "a", encoding="utf-8") as file:
                file.write(f"{os.getpid()}\n")
        torch.cuda._get_device_properties = Properties
        torch.cuda.default_generators = tuple(torch.Generator(f"cuda:{i}") for i in range(lib.sim_count()))

    def set_device(d: int) -> None:
        if not 0 <= d < lib.sim_count():
            raise RuntimeError("CUDA error: invalid device ordinal")
        lib.sim_set_device(d)

    def exchange(d: int) -> int:
        if d < 0:
            return -1
        old = lib.sim_device()
        lib.sim_set_device(d)
        return old

    def set_stream(stream_id: int, device_index: int, device_type: int) -> None:
        lib.sim_set_device(device_index)
        lib.sim_set_current(device_index, stream_id)

    return {  # functions of Python, and no two the same: Dynamo wants to hash them
        "_cuda_init": init,
        "_cuda_getDeviceCount": lambda: lib.sim_count(),
        "_cuda_getDevice": lambda: lib.sim_device(),
        "_cuda_setDevice": set_device,
        "_cuda_exchangeDevice": exchange,
        "_cuda_maybeExchangeDevice": lambda d: exchange(d),
        "_cuda_canDeviceAccessPeer": lambda a, b: True,
        "_cuda_getCurrentStream": lambda d: (lib.sim_current(d), d, 1),
        "_cuda_getCurrentRawStream": lambda d: lib.sim_current(d),
        "_cuda_getDefaultStream": lambda d: (0, d, 1),
        "_cuda_setStream": set_stream,
        "_cuda_isCurrentStreamCapturing": lambda: bool(lib.sim_capturing()),
        "_graph_pool_handle": lambda: (0, 1),
    }


def _waiting() -> dict[str, Any]:
    lib = library()

    def set_mode(mode: int) -> None:
        warnings.warn(
            "Synchronization debug mode is a prototype feature and does not yet detect all synchronizing operations",
            stacklevel=3,
        )
        lib.sim_set_sync_mode(int(mode))

    def sleep(cycles: int) -> None:
        import torch

        torch.empty(0, device="cuda")  # so that PyTorch's core knows, too, that there is something to wait for
        lib.sim_busy(lib.sim_device(), cycles / CLOCK)

    return {
        "_cuda_synchronize": lambda: checked(lib.sim_synchronize_device(lib.sim_device())),
        "_cuda_sleep": sleep,
        "_cuda_set_sync_debug_mode": set_mode,
        "_cuda_get_sync_debug_mode": lambda: lib.sim_sync_mode(),
    }


def _memory() -> dict[str, Any]:
    lib = library()

    def statistics(d: int) -> dict[str, Any]:
        def of(current: int, peak: int) -> dict[str, dict[str, int]]:
            one = {"current": current, "peak": peak, "allocated": 0, "freed": 0}
            return {pool: dict(one) for pool in ("all", "small_pool", "large_pool")}

        live, peak, reserved = (lib.sim_bytes(d, i) for i in range(3))
        return {"allocated_bytes": of(live, peak), "reserved_bytes": of(reserved, reserved), "num_ooms": 0}

    def empty_cache() -> None:
        for d in range(lib.sim_count()):
            lib.sim_empty_cache(d)

    runtime = ModuleType("torch._C._cudart")
    runtime.cudaMemGetInfo = lambda d: (lib.sim_bytes(d, 3) - lib.sim_bytes(d, 2), lib.sim_bytes(d, 3))  # type: ignore[attr-defined]
    runtime.cudaError = SimpleNamespace(success=0)  # type: ignore[attr-defined]
    runtime.cudaGetErrorString = lambda code: f"error {code}"  # type: ignore[attr-defined]
    return {
        "_cudart": runtime,
        "_cuda_memoryStats": statistics,
        "_cuda_resetPeakMemoryStats": lambda d: lib.sim_reset_peak(d),
        "_cuda_resetAccumulatedMemoryStats": lambda d: None,
        "_cuda_emptyCache": empty_cache,
        "_host_emptyCache": lambda: None,
        "_cuda_getAllocatorBackend": lambda: "native",
        "_cuda_cudaCachingAllocator_is_enabled": lambda: True,
        "_cuda_isHistoryEnabled": lambda: False,
        "_cuda_clearCublasWorkspaces": lambda: None,
        "_cuda_ipc_collect": lambda: None,
    }


def _constants() -> dict[str, Any]:
    return {
        "_has_cuda": True,
        "_cuda_getArchFlags": lambda: "sm_90",
        "_cuda_getCompiledVersion": lambda: 13000,
        "_cuda_isInBadFork": lambda: False,
    }
