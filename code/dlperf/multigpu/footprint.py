"""Measure the peak memory of tensors on a device while a function runs.

On a CPU each allocation and each release is read out of PyTorch's profiler; on a GPU the allocator keeps the maximum.
The chapter *Training on multiple GPUs, from scratch* holds formulas against it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from dlperf.device import is_gpu

os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # else the profiler writes notes of its own


def peak(fn: Callable[[], Any], device: torch.device, *held: torch.Tensor) -> int:
    """Returns the most bytes of tensors on ``device`` while ``fn`` runs, those ``held`` before it among them.

    Of tensors that share their memory, as views do, it counts once.
    """
    there = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in held}
    return sum(there.values()) + (_on_gpu(fn, device) if is_gpu(device) else _on_cpu(fn))


def _on_cpu(fn: Callable[[], Any]) -> int:
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        fn()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        seen.export_chrome_trace(str(path))
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    changes = [(event["ts"], event["args"]["Bytes"]) for event in events if event["name"] == "[memory]"]
    return max(accumulate((size for _, size in sorted(changes)), initial=0))


def _on_gpu(fn: Callable[[], Any], device: torch.device) -> int:
    allocator = torch.get_device_module(device)
    before = allocator.memory_allocated(device)
    allocator.reset_peak_memory_stats(device)
    fn()
    return allocator.max_memory_allocated(device) - before
