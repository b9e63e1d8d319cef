"""The simulated GPU's library as Python calls it."""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path

_INT, _ID, _TIME, _PLACE = ctypes.c_int, ctypes.c_int64, ctypes.c_double, ctypes.c_void_p
_TEXT = (ctypes.c_long, ctypes.c_char_p, ctypes.c_long)
_SIGNATURES = {
    "sim_current": (_ID, _INT),
    "sim_set_current": (None, _INT, _ID),
    "sim_new_stream": (_ID, _INT),
    "sim_synchronize_stream": (_INT, _INT, _ID),
    "sim_query_stream": (_INT, _INT, _ID),
    "sim_busy": (None, _INT, _TIME),
    "sim_record": (_PLACE, _INT, _ID),
    "sim_tail": (_TIME, _INT, _ID),
    "sim_now": (_TIME,),
    "sim_use_virtual_clock": (None,),
    "sim_advance": (None, _TIME),
    "sim_block": (_INT, _INT, _ID, _PLACE, _TIME),
    "sim_wait": (_INT, _PLACE, _TIME),
    "sim_heard": (_INT, _PLACE),
    "sim_drop_event": (None, _PLACE),
    "sim_bytes": (ctypes.c_size_t, _INT, _INT),
    "sim_capture_begin": (_PLACE, _INT, _ID),
    "sim_capture_end": (_INT, _PLACE),
    "sim_replay": (_INT, _PLACE, _INT),
    "sim_drop_graph": (None, _PLACE),
    "sim_races": _TEXT,
    "sim_counts": _TEXT,
}
"""Result and arguments, where they are not integers."""


def path() -> Path | None:
    """Returns the library that the environment names, or None."""
    named = os.environ.get("SIMULATED_CUDA_LIBRARY")
    return Path(named) if named else None


def load(torch: Path) -> ctypes.CDLL:
    """Loads the library into this process, after PyTorch's own in the folder ``torch``, and returns it."""
    ctypes.CDLL(str(torch / "lib" / "libtorch_global_deps.so"), mode=ctypes.RTLD_GLOBAL)
    return library()


@functools.cache
def library() -> ctypes.CDLL:
    """Returns the library with the types of its functions."""
    found = ctypes.CDLL(str(path()))
    for name, (result, *arguments) in _SIGNATURES.items():
        function = getattr(found, name)
        function.restype, function.argtypes = result, arguments
    return found


def races() -> list[str]:
    """Returns every access so far that did not wait for an earlier one in another stream."""
    return _text("sim_races").splitlines()


def counts() -> dict[str, int]:
    """Returns how often each kind of kernel, wait and pinned allocation happened."""
    return {
        name: int(number) for name, _, number in (line.rpartition(" ") for line in _text("sim_counts").splitlines())
    }


def _text(name: str) -> str:
    text = ctypes.create_string_buffer(2**20)
    getattr(library(), name)(text, len(text))
    return text.value.decode()


def checked(refusal: int) -> None:
    """Raises what CUDA or PyTorch would where the library refused."""
    if refusal == 1:
        raise RuntimeError("CUDA error: operation not permitted when stream is capturing")
    if refusal == 2:
        raise RuntimeError("called a synchronizing CUDA operation")
    if refusal == 3:
        raise RuntimeError("CUDA error: dependency created on uncaptured work in another stream")
