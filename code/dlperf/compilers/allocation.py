"""Make malloc keep freed memory for later tensors, and count the peak bytes of the tensors that a function makes."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_MMAP_MAX = -1, -3, -4  # of glibc's malloc.h

KEEP = {M_TRIM_THRESHOLD: -1, M_MMAP_MAX: 0}
"""Give nothing back, and take no block from the system directly."""

AS_BEFORE = {M_MMAP_THRESHOLD: 2**25, M_TRIM_THRESHOLD: 2**26, M_MMAP_MAX: 2**16}
"""What glibc comes to by itself once a block of 32 MiB or more has been freed; then it no longer adapts."""


def _tell_malloc(options: dict[int, int]) -> bool:
    try:
        libc = ctypes.CDLL("libc.so.6")
        return all(libc.mallopt(option, value) for option, value in options.items())
    except (OSError, AttributeError):
        return False


@contextmanager
def kept_memory() -> Iterator[bool]:
    """Keeps memory that is freed, for the next tensor; yields whether the C library can be told to, as glibc can.

    Otherwise a large block goes back to the operating system when it is freed, and the next one comes from there,
    with pages that are cleared one by one when they are first touched. On a GPU, PyTorch keeps memory anyway.
    Afterwards it goes back again, except what lies before something that is still in use.
    Source: https://man7.org/linux/man-pages/man3/mallopt.3.html.
    """
    told = _tell_malloc(KEEP)
    try:
        yield told
    finally:
        _tell_malloc(AS_BEFORE)
        gc.collect()
        if told:
            ctypes.CDLL("libc.so.6").malloc_trim(0)


class _Bytes(TorchDispatchMode):
    """Counts the bytes that are alive of those that operations made."""

    def __init__(self) -> None:
        super().__init__()
        self.live: dict[int, int] = {}
        self.peak = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        inside = [a.untyped_storage()._cdata for a in args if isinstance(a, torch.Tensor)]
        storage = out.untyped_storage()
        if storage._cdata not in inside:
            self.live[storage._cdata] = storage.nbytes()
            weakref.finalize(storage, self.live.pop, storage._cdata, None)
        self.peak = max(self.peak, sum(self.live.values()))
        return out


def peak_bytes(fn: Callable[..., Any], *args: Any) -> int:
    """Returns the most bytes that the tensors made by ``fn(*args)`` hold at one time; arguments do not count.

    Each operation in ``fn`` must return one tensor.
    """
    with _Bytes() as counted:
        fn(*args)
    return counted.peak
