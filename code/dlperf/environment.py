"""What a measurement was taken on: hardware, software, date and code."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent


def _proc_field(path: str, name: str) -> str | None:
    """Returns the first ``name: value`` of a file in /proc, or None where there is none."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), None)


def cpu_model() -> str:
    """Returns the processor's name as its operating system gives it."""
    return _proc_field("/proc/cpuinfo", "model name") or platform.processor() or platform.machine()


def cores() -> int:
    """Returns the number of cores that this process may use, which can be fewer than exist."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def memory_bytes() -> int | None:
    """Returns the size of main memory in bytes, or None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def compiler() -> str | None:
    """Returns the first line that the C++ compiler says of itself, or None without one."""
    found = next(filter(None, map(shutil.which, (os.environ.get("CXX") or "c++", "g++", "clang++"))), None)
    if found is None:
        return None
    return subprocess.run([found, "--version"], capture_output=True, text=True).stdout.partition("\n")[0]


def machine() -> dict[str, object]:
    """Returns what makes this machine another than the next: values that need no PyTorch to read.

    A page is executed anew when one of them changes.
    """
    drivers = sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
    return {
        "cpu": cpu_model(),
        "cores": cores(),
        "memory_gib": round((memory_bytes() or 0) / 2**30),
        "gpus": [_proc_field(str(path), "Model") for path in drivers],
        "visible": os.environ.get("CUDA_VISIBLE_DEVICES"),
        "python": ".".join(platform.python_version_tuple()[:2]),
        "compiler": compiler() is not None,
    }


def gpus() -> list[str]:
    """Returns the name of every CUDA device that PyTorch sees; empty without one."""
    import torch

    return [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]


@functools.cache
def code_hash() -> str:
    """Returns a hash of every source file of ``dlperf``, to tell two versions of it apart."""
    digest = hashlib.sha256()
    for path in sorted(HERE.rglob("*.py")):
        digest.update(path.relative_to(HERE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


@functools.cache
def _fixed() -> dict[str, object]:
    import torch

    return {
        "cpu": cpu_model(),
        "cores": cores(),
        "threads": torch.get_num_threads(),
        "memory_bytes": memory_bytes(),
        "virtual": "hypervisor" in (_proc_field("/proc/cpuinfo", "flags") or "").split(),
        "gpus": gpus(),
        "cuda": torch.version.cuda if torch.cuda.is_available() else None,
        "driver": _proc_field("/proc/driver/nvidia/version", "NVRM version"),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "compiler": compiler(),
        "os": f"{platform.system()} {platform.release().split('-')[0]} {platform.machine()}",
        "code": code_hash(),
    }


def environment() -> dict[str, object]:
    """Returns what this process measures on: JSON values, keyed by plain names.

    ``memory_bytes`` is in bytes; ``cores`` are those that this process may use; ``threads`` are
    PyTorch's; ``code`` is a hash of ``dlperf``; ``date`` is UTC. The chapter *Measuring
    performance* says why each is needed.
    """
    return {**_fixed(), "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
