"""Identify the disk that holds a folder: file system, device, model and kind, as far as the system tells.

The chapter *Hardware* tells the story.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

NETWORKED = ("nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "9p", "virtiofs", "fuse.sshfs", "beegfs", "glusterfs")
"""File systems whose disk is in another machine, or behind a hypervisor's door."""


IN_MEMORY = ("tmpfs", "ramfs")
"""File systems without a disk."""


@dataclass(frozen=True)
class Disk:
    """What was found; ``None`` and empty strings where the system does not say. ``free`` is in bytes.

    ``depth`` is how many requests the system queues for it. ``virtual`` is true where another system stands
    between this one and the device: a hypervisor, a network, a layer of a container.
    """

    folder: str
    file_system: str
    device: str = ""
    model: str = ""
    rotational: bool | None = None
    depth: int | None = None
    virtual: bool | None = None
    free: int = 0


def folder(mounts: Path = Path("/proc/self/mountinfo")) -> str:
    """Returns a folder for a file to read and write: the one for temporary files, unless it is kept in memory.

    Then /var/tmp or ~/.cache, if one of these is there and on a disk.
    """
    usual = tempfile.gettempdir()
    for place in (usual, "/var/tmp", os.path.expanduser("~/.cache")):
        in_memory = _mount(os.path.realpath(place), mounts)[0] in IN_MEMORY
        if os.path.isdir(place) and os.access(place, os.W_OK) and not in_memory:
            return place
    return usual


def disk(where: str | None = None, mounts: Path = Path("/proc/self/mountinfo"), sys: Path = Path("/sys")) -> Disk:
    """Returns the disk that a folder is on, by default that of `folder`."""
    where = os.path.realpath(where or folder())
    free = shutil.disk_usage(where).free
    file_system, number = _mount(where, mounts)
    block = (sys / "dev/block" / number).resolve()
    if not number or not block.is_dir():
        layered = file_system in (*NETWORKED, "overlay") or None
        return Disk(where, file_system, virtual=layered, free=free)
    if (block / "partition").exists():
        block = block.parent
    says = lambda name: _text(block / name)
    model = says("device/model") or says("device/name")
    known = [word for word in ("virtio", "xen", "vmbus", "nbd", "rbd") if word in str(block)]
    virtual = bool(known) or any(word in model.lower() for word in ("virtual", "qemu", "elastic", "persistent", "msft"))
    depth = says("queue/nr_requests")
    spinning = says("queue/rotational")
    return Disk(
        where,
        file_system,
        block.name,
        model,
        spinning == "1" if spinning else None,
        int(depth) if depth.isdigit() else None,
        virtual,
        free,
    )


def _mount(folder: str, mounts: Path) -> tuple[str, str]:
    """Returns the file system that holds a folder and its device's number, ``major:minor``; empty if not told."""
    found = ("", "")
    longest = -1
    for line in _text(mounts).splitlines():  # proc(5): id, parent, number, root, mount point, ..., -, file system
        before, _, after = line.partition(" - ")
        number, point = before.split()[2], before.split()[4].replace("\\040", " ")
        inside = folder == point or folder.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= longest:
            longest, found = len(point), (after.split()[0], number)
    return found


def _text(path: Path) -> str:
    with suppress(OSError):
        return path.read_text(encoding="utf-8").strip()
    return ""
