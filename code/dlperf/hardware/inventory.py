"""List this machine's cores, caches, memory, disks, networks and accelerators, as its system reports them.

What the system does not tell is None, never a guess. The chapter *Hardware* tells the story.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import torch

from dlperf.device import describe, has_cuda, is_gpu, try_all_gpus
from dlperf.environment import cores, cpu_model, environment, memory_bytes
from dlperf.hardware import reference_tools
from dlperf.hardware.probe import Unknown

SYS = Path("/sys")
_ENCODED = {2.5: 8 / 10, 5.0: 8 / 10, 8.0: 128 / 130, 16.0: 128 / 130, 32.0: 128 / 130, 64.0: 236 / 256}
"""Which share of the bits on a PCIe lane is the user's, by billions of transfers per second: generations 1 to 6."""


@dataclass(frozen=True)
class Cache:
    """A cache: ``size`` and ``line`` in bytes, and the cores that share it, where the system tells."""

    level: int
    kind: str
    size: int
    line: int | None = None
    ways: int | None = None
    cores: tuple[int, ...] = ()

    @property
    def sets(self) -> int:
        """The number of groups of lines; an address says in which one its line may lie. `Unknown` without ways."""
        if not self.ways or not self.line:
            raise Unknown(f"this system does not tell how many ways its L{self.level} cache has")
        return self.size // (self.line * self.ways)


@dataclass(frozen=True)
class Part:
    """A disk, a network interface or an accelerator. ``size`` in bytes; ``rate`` of its link in B/s."""

    name: str
    kind: str
    size: int | None = None
    rate: float | None = None


@dataclass(frozen=True)
class Inventory:
    """A machine as its system describes it. ``memory`` in bytes, ``clock`` in Hz."""

    processor: str
    cores: int
    physical: int | None
    clock: float | None
    virtual: bool | None
    caches: tuple[Cache, ...]
    memory: int | None
    nodes: int | None
    parts: tuple[Part, ...]

    def cache(self, level: int, kind: str = "Data") -> Cache | None:
        """Returns the first core's cache of a level: the one for data, where there are two."""
        return next((c for c in self.caches if c.level == level and c.kind in (kind, "Unified")), None)


def inventory() -> Inventory:
    """Returns what this machine's system tells of it. The disks are those whole ones that a system can name."""
    virtual = environment()["virtual"]
    found: tuple[Cache, ...] = ()
    with suppress(Unknown):
        found = all_caches()
    return Inventory(
        processor=cpu_model(),
        cores=cores(),
        physical=psutil.cpu_count(logical=False),
        clock=_clock(),
        virtual=virtual if isinstance(virtual, bool) else None,
        caches=found,
        memory=memory_bytes(),
        nodes=len(list((SYS / "devices/system/node").glob("node[0-9]*"))) or None,
        parts=(*disks(), *interfaces(), *accelerators()),
    )


def _clock() -> float | None:
    try:
        told = psutil.cpu_freq()
    except (AttributeError, OSError, NotImplementedError, RuntimeError):  # some systems have no such thing
        return None
    return 1e6 * told.current if told and told.current else None


def _read_all(folder: Path, *names: str) -> Iterator[str | None]:
    return (_read(folder / name) for name in names)


def caches(root: Path = SYS) -> tuple[Cache, ...]:
    """Returns the caches that Linux reports, smallest level first."""
    found = set()
    every = "devices/system/cpu/cpu[0-9]*/cache/index[0-9]*"
    for folder in root.glob(every):
        level, kind, size = _read_all(folder, "level", "type", "size")
        line, ways, sharers = _read_all(
            folder,
            "coherency_line_size",
            "ways_of_associativity",
            "shared_cpu_list",
        )
        if size and level:
            size_in_bytes = int(size.removesuffix("K")) * 1024
            which = int(level), kind or "", size_in_bytes
            shape = _int(line), _int(ways), _cores(sharers or "")
            found.add(Cache(*which, *shape))
    return tuple(sorted(found, key=lambda c: (c.level, c.cores, c.kind)))


def caches_of_macos(told: str) -> tuple[Cache, ...]:
    """Returns the caches in what macOS's ``sysctl hw`` prints: those of the fast cores where there are two kinds."""
    values = dict(line.split(": ", 1) for line in told.splitlines() if ": " in line)
    names = (("l1dcachesize", 1, "Data"), ("l1icachesize", 1, "Instruction"), ("l2cachesize", 2, "Unified"))
    sizes = {n: _int(values.get(f"hw.perflevel0.{n}", values.get(f"hw.{n}"))) for n, _, _ in names}
    line = _int(values.get("hw.cachelinesize"))
    return tuple(Cache(level, kind, size, line) for n, level, kind in names if (size := sizes[n]))


def all_caches() -> tuple[Cache, ...]:
    """Returns every cache that this system reports; none where it is silent."""
    return caches_of_macos(reference_tools.output(["sysctl", "hw"])) if sys.platform == "darwin" else caches()


def disks(root: Path = SYS) -> tuple[Part, ...]:
    """Returns the whole disks that Linux reports: ``hdd``, ``ssd``, or ``virtual``, which often claims to rotate."""
    found = []
    for folder in sorted((root / "block").glob("*")):
        sectors = _int(_read(folder / "size"))  # always of 512 bytes
        if sectors and (folder / "device").exists():  # loops and memory disks have no device
            link = (folder / "device").resolve()
            rotates = _read(folder / "queue/rotational") == "1"
            kind = "virtual" if re.search("/(virtio|vbd)", str(link)) else "hdd" if rotates else "ssd"
            found.append(Part(folder.name, kind, 512 * sectors, next(filter(None, map(_pcie, link.parents)), None)))
    return tuple(found)


def interfaces() -> tuple[Part, ...]:
    """Returns the network interfaces that are up, with the rate that they claim; loopback is none."""
    up = {name: stats for name, stats in psutil.net_if_stats().items() if stats.isup and not name.startswith("lo")}
    return tuple(Part(name, "network", rate=stats.speed * 1e6 / 8 or None) for name, stats in up.items())


def accelerators() -> tuple[Part, ...]:
    """Returns the GPUs that PyTorch sees, with the link that Linux reports for them."""
    found = []
    for device in filter(is_gpu, try_all_gpus()):
        if not has_cuda(device):
            found.append(Part(describe(device), "gpu"))
            continue
        p = torch.cuda.get_device_properties(device)
        slot = [getattr(p, f"pci_{name}_id", -1) for name in ("domain", "bus", "device")]
        folder = SYS / "bus/pci/devices" / "{:04x}:{:02x}:{:02x}.0".format(*slot)
        found.append(Part(p.name, "gpu", p.total_memory, _pcie(folder)))
    return tuple(found)


def pcie_rate(transfers: float, lanes: int) -> float:
    """Returns the B/s in one direction of so many lanes at so many billion ``transfers`` per second each.

    Raises ValueError if no generation of PCIe has that rate. Source: PCI-SIG, FAQ on PCI Express 3.0 and 6.0.
    """
    if transfers not in _ENCODED:
        raise ValueError(f"PCIe runs at {', '.join(map(str, _ENCODED))} GT/s, not at {transfers}")
    return transfers * 1e9 * _ENCODED[transfers] * lanes / 8


def _pcie(folder: Path) -> float | None:
    """Returns what a link can carry: as wide as it is now, as fast as it may be, for an idle one slows down."""
    speed = re.match(r"([\d.]+) GT/s", _read(folder / "max_link_speed") or "")
    lanes = _int(_read(folder / "current_link_width"))
    return pcie_rate(float(speed[1]), lanes) if speed and lanes and float(speed[1]) in _ENCODED else None


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None


def _int(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None


def _cores(text: str) -> tuple[int, ...]:
    """Returns the numbers in a list such as ``0-3,8``."""
    ends = (part.split("-") for part in text.split(",") if part)
    return tuple(i for each in ends for i in range(int(each[0]), int(each[-1]) + 1))
