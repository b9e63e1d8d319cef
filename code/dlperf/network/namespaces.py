"""Linux's namespaces, for a process of one thread: users, processes and networks of its own."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
"""What can be new: the users, the processes (for children to come), the network."""


def enter(new: int) -> None:
    """Puts this process into new namespaces of these kinds. Raises OSError where the system does not let it.

    Python has had this as ``os.unshare`` since 3.12.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(new):
        code = ctypes.get_errno()
        raise OSError(code, f"the system lets us have none of our own: {os.strerror(code)}")


def enter_as_root(new: int) -> None:
    """Does the same among new users too, of whom this process is the root; outside it stays who it was."""
    user, group = os.getuid(), os.getgid()
    enter(NEWUSER | new)
    own = Path("/proc/self")
    (own / "setgroups").write_text("deny", encoding="ascii")
    (own / "uid_map").write_text(f"0 {user} 1", encoding="ascii")
    (own / "gid_map").write_text(f"0 {group} 1", encoding="ascii")
