"""What a compiled loop became: the instructions of one function, on processors whose language the tests can read."""

from __future__ import annotations

import platform
from typing import Any

import pytest
from numba import njit


def instructions(loop: Any, *args: Any) -> str:
    """Returns the assembly of a Numba function for these arguments; skips the test on other processors than x86."""
    if platform.machine().lower() not in ("x86_64", "amd64"):
        pytest.skip("the test reads x86 assembly")
    fresh = njit(nogil=True)(loop.py_func)  # Numba does not show code that it took from its cache
    fresh(*args)
    text = next(iter(fresh.inspect_asm().values()))
    return str(text[: text.index("Lfunc_end0")])
