"""Describe the environment of a measurement: hardware, software, date and code."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib
import os
import platform
import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # to say what machine this is must not take seconds of importing
    import torch

HERE = Path(__file__).resolve().parent


CPUINFO = "/proc/cpuinfo"


def _proc_field(path: str, name: str) -> str | None:
    """Returns the first ``name: value`` of a file in /proc, or None where there is none."""
    with contextlib.suppress(OSError):
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            field, colon, value = line.partition(":")
            if colon and field.rstrip() == name:
                return value.strip()
    return None


def cpu_model() -> str:
    """Returns the processor's name as its operating system gives it."""
    return _proc_field(CPUINFO, "model name") or platform.processor() or platform.machine()


def cpu_number() -> str | None:
    """Returns what its maker numbers the processor's design by, or None where the system does not tell.

    Processors of different designs can share a name: ``AMD EPYC`` in a virtual machine, any ARM on Linux.
    """
    for fields in (("cpu family", "model"), ("CPU implementer", "CPU part")):  # x86, ARM
        values = [_proc_field(CPUINFO, field) for field in fields]
        if all(values):
            return " ".join(f"{field.split()[-1]} {value}" for field, value in zip(fields, values, strict=True))
    return None


def microarchitecture() -> str | None:
    """Returns the processor's design as LLVM calls it, such as ``znver4``; without LLVM, or its word, `cpu_number`."""
    with contextlib.suppress(ImportError, OSError):  # not installed, or its library cannot be loaded
        # By its name, as no import of this module: no page's numbers depend on which LLVM names the processor.
        name = importlib.import_module("llvmlite.binding").get_host_cpu_name()
        if name != "generic":
            return str(name)
    return cpu_number()


def cores() -> int:
    """Returns the number of cores that this process may use, which can be fewer than exist.

    Logical ones, as the system counts: two may be threads of one. A container's quota of time counts as whole
    cores: with a thread more than it allows, the system stops all of them now and then.
    """
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(count, _quota() or count)


def pinnable_cores() -> list[int]:
    """Returns the cores that this process may be pinned to: second threads of a core come after all other cores.

    An empty list where the system cannot pin.
    """
    free = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    second = set()
    for core in free:
        with contextlib.suppress(OSError):
            path = f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list"
            first = re.split("[,-]", Path(path).read_text(encoding="ascii").strip())[0]
            second |= {core} if str(core) != first else set()
    return sorted(free, key=lambda core: (core in second, core))


def _quota(root: Path = Path("/sys/fs/cgroup")) -> int | None:
    """Returns how many cores' worth of time this container may use, rounded down to 1 or more; None without a limit."""
    files = [root / "cpu.max"], [root / "cpu/cpu.cfs_quota_us", root / "cpu/cpu.cfs_period_us"]  # version 2, version 1
    for version in files:
        with contextlib.suppress(OSError, ValueError):  # no such file, or "max"
            quota, period = " ".join(path.read_text(encoding="ascii") for path in version).split()
            return max(1, int(quota) // int(period)) if int(quota) > 0 else None
    return None


def cache_bytes(root: Path = Path("/sys/devices/system/cpu")) -> int:
    """Returns the size of all last-level caches together in bytes, or 0 where the system does not tell."""
    sizes: dict[tuple[int, str], int] = {}
    for index in root.glob("cpu[0-9]*/cache/index*"):
        with contextlib.suppress(OSError, ValueError):
            level, size, sharers = ((index / name).read_text().strip() for name in ("level", "size", "shared_cpu_list"))
            sizes[int(level), sharers] = int(size.removesuffix("K")) * 1024
    last = max((level for level, _ in sizes), default=0)
    return sum(size for (level, _), size in sizes.items() if level == last)


def memory_bytes() -> int | None:
    """Returns the size of main memory in bytes, or None where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None


def compilers() -> tuple[str, ...]:
    """Returns the names of C++ compilers in the order in which they are looked for; ``CXX`` says another first."""
    return (os.environ.get("CXX") or "c++", "g++", "clang++")


def compiler_path() -> str | None:
    """Returns the path of the first of `compilers` that there is, or None without one."""
    return next(filter(None, map(shutil.which, compilers())), None)


def compiler() -> str | None:
    """Returns the first line that the C++ compiler says of itself, or None without one."""
    found = compiler_path()
    if found is None:
        return None
    return subprocess.run([found, "--version"], capture_output=True, text=True).stdout.partition("\n")[0]


def lacking(package: str) -> str:
    """Returns what to say where an experiment needs a package that is not installed: its name, and what brings it."""
    return f"{package} is not installed: pip install '.[hardware]' in the book's folder brings it"


def machine() -> dict[str, object]:
    """Returns what makes this machine another than the next: values that need no PyTorch to read.

    A page is executed anew when one of them changes.
    """
    drivers = sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
    return {
        "cpu": cpu_model(),
        "number": cpu_number(),
        "cores": cores(),
        "memory_gib": round((memory_bytes() or 0) / 2**30),
        "gpus": [_proc_field(str(path), "Model") for path in drivers],
        "visible": os.environ.get("CUDA_VISIBLE_DEVICES"),
        "python": ".".join(platform.python_version_tuple()[:2]),
        "compiler": compiler() is not None,
    }


def gpus() -> list[str]:
    """Returns the name of every GPU that PyTorch sees, of whichever kind; empty without one."""
    from dlperf.device import describe, is_gpu, try_all_gpus

    return [describe(device) for device in filter(is_gpu, try_all_gpus())]


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

    from dlperf.device import try_gpu

    flags = _proc_field(CPUINFO, "flags")
    return {
        "cpu": cpu_model(),
        "microarchitecture": microarchitecture(),
        "cores": cores(),
        "memory_bytes": memory_bytes(),
        "virtual": "hypervisor" in flags.split() if flags else None,
        "gpus": gpus(),
        "accelerator": try_gpu().type if gpus() else None,
        "cuda": torch.version.cuda if torch.cuda.is_available() else None,
        "driver": _proc_field("/proc/driver/nvidia/version", "NVRM version"),
        "torch": torch.__version__,
        "python": platform.python_version(),
        "compiler": compiler(),
        "os": f"{platform.system()} {platform.release().split('-')[0]} {platform.machine()}",
        "code": code_hash(),
    }


def environment(device: torch.device | str | None = None) -> dict[str, object]:
    """Returns what this process measures on: JSON values, keyed by plain names; with ``device``, that by name too.

    ``memory_bytes`` is in bytes; ``cores`` are those that this process may use; ``threads`` are
    PyTorch's at this moment; ``code`` is a hash of ``dlperf``; ``date`` is UTC. The chapter *Measuring
    performance* says why each is needed.
    """
    import torch

    from dlperf.device import describe

    now = {"threads": torch.get_num_threads(), "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    return {**_fixed(), **now} if device is None else {**_fixed(), **now, "device": describe(device)}
