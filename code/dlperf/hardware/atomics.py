"""Loads, stores and additions that a compiler does one by one, when and as often as the program says.

Left alone, it would keep a counter in a register, fetch many words by one instruction, or look at a flag once. The
names are those of C++'s memory orders. A loop that calls these is not cached: Numba does not notice that what a
function calls in another module has changed. The chapter *Hardware* tells the story.
"""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_AT = types.uint64


def _address(context: Any, builder: Any, kind: Any, words: Any, at: Any) -> Any:
    """Returns the address of the word ``at`` of an array: nothing is checked, and nothing wraps around."""
    if kind.layout != "C":
        raise TypeError(f"atomics need words side by side, not an array of layout {kind.layout}")
    return builder.gep(cgutils.create_struct_proxy(kind)(context, builder, words).data, [at])


def _loading(words: Any, order: str) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load_atomic(_address(context, builder, signature.args[0], *arguments), order, 8)

    return words.dtype(words, _AT), code


def _storing(words: Any, order: str) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], *arguments[:2])
        builder.store_atomic(arguments[2], address, order, 8)
        return context.get_dummy_value()

    return types.void(words, _AT, words.dtype), code


def _load(typing: Any, words: Any, at: Any) -> Any:
    """Returns ``words[at]``, read from memory now: a 64-bit word of an array in one piece. *Relaxed*."""
    return _loading(words, "monotonic")


def _store(typing: Any, words: Any, at: Any, value: Any) -> Any:
    """Writes ``value`` to ``words[at]`` now. *Relaxed*: it costs no more than any other store."""
    return _storing(words, "monotonic")


def _acquire(typing: Any, words: Any, at: Any) -> Any:
    """Returns ``words[at]``, and with it all that was written before it was released."""
    return _loading(words, "acquire")


def _release(typing: Any, words: Any, at: Any, value: Any) -> Any:
    """Writes ``words[at]`` so that who acquires it sees all that was written before."""
    return _storing(words, "release")


def _add(typing: Any, words: Any, at: Any, amount: Any) -> Any:
    """Returns ``words[at]`` and adds to it, in one step that no thread can come between."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address(context, builder, signature.args[0], *arguments[:2])
        return builder.atomic_rmw("add", address, arguments[2], "seq_cst")

    return words.dtype(words, _AT, words.dtype), code


load: Any = intrinsic(_load)
store: Any = intrinsic(_store)
acquire: Any = intrinsic(_acquire)
release: Any = intrinsic(_release)
add: Any = intrinsic(_add)
