"""Loads and stores that a compiler does one by one, as often as the program says: C++ calls such atomics relaxed.

Left alone, it would keep a counter in a register, or fetch many words by one instruction. These cost no more than
any other load or store. The chapter *Hardware* tells the story.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic


def _address(context: Any, builder: Any, kind: Any, words: Any, at: Any) -> Any:
    """Returns the address of the word ``at`` of an array: nothing is checked, and nothing wraps around."""
    if kind.layout != "C":
        raise TypeError(f"relaxed loads and stores need words side by side, not an array of layout {kind.layout}")
    return builder.gep(cgutils.create_struct_proxy(kind)(context, builder, words).data, [at])


def _load(typing: Any, words: Any, at: Any) -> Any:
    """Returns ``words[at]``, read from memory now; ``words`` and ``at`` are 64-bit and unsigned."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], *arguments)
        return builder.load_atomic(address, "monotonic", 8)

    return types.uint64(words, types.uint64), code


def _store(typing: Any, words: Any, at: Any, value: Any) -> Any:
    """Writes ``value`` to ``words[at]`` now; all three are 64-bit and unsigned."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], *arguments[:2])
        builder.store_atomic(arguments[2], address, "monotonic", 8)
        return context.get_dummy_value()

    return types.void(words, types.uint64, types.uint64), code


load: Any = intrinsic(_load)
store: Any = intrinsic(_store)
