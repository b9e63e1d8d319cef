"""Loops that stay in the registers: chains of operations, of any type, vector width and number."""

from __future__ import annotations

import functools
import platform
import re
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import binding, ir
from numba.core import cgutils, types
from numba.extending import intrinsic

TYPES: dict[str, ir.Type] = {
    "float64": ir.DoubleType(),
    "float32": ir.FloatType(),
    "int64": ir.IntType(64),
    "int32": ir.IntType(32),
    "int16": ir.IntType(16),
    "int8": ir.IntType(8),
}
"""The types that a chain can have, as LLVM has them. Not float16: where a processor has none, LLVM's code crashes."""

INDEX = ir.IntType(32)
"""What LLVM counts lanes with."""

UNROLLED = 16
"""Steps between two jumps back: with one, the loop around a short chain takes a part of each of its cycles."""


def bits(dtype: str) -> int:
    """Returns the bits of a number of this type."""
    return int(re.sub(r"\D", "", dtype))


def width() -> int:
    """Returns the bits of the widest vector registers of a fixed width that LLVM knows of in this processor."""
    features = binding.get_host_cpu_features()
    return 512 if features.get("avx512f") else 256 if features.get("avx2") else 128


def plenty() -> int:
    """Returns how many chains keep every unit busy and still fit the registers: two thirds of them or more."""
    x86 = platform.machine() in ("x86_64", "AMD64")
    return 12 if x86 and width() < 512 else 24


def _is_float(element: ir.Type) -> bool:
    return isinstance(element, (ir.FloatType, ir.DoubleType))


def _step(builder: ir.IRBuilder, x: Any, a: Any, b: Any) -> Any:
    """Emits what a chain does to ``x``: one FMA, or two dependent operations on whole numbers."""
    lanes = f"v{x.type.count}" if isinstance(x.type, ir.VectorType) else ""
    element = x.type.element if lanes else x.type
    if not _is_float(element):
        return builder.xor(builder.add(x, a), b)
    name = f"llvm.fmuladd.{lanes}{element.intrinsic_name}"
    fma = cgutils.get_or_insert_function(builder.module, ir.FunctionType(x.type, [x.type] * 3), name)
    return builder.call(fma, [x, a, b])


def _spread(builder: ir.IRBuilder, value: Any, kind: ir.Type) -> Any:
    """Emits a vector of this kind with ``value`` in every lane; a scalar is left as it is."""
    if not isinstance(kind, ir.VectorType):
        return value
    one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, INDEX(0))
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(INDEX, kind.count), [0] * kind.count))


def _repeat(builder: ir.IRBuilder, steps: Any, start: list[Any], step: Callable[[Any], Any]) -> list[Any]:
    """Emits a loop that takes every value of ``start`` ``steps`` times `UNROLLED` further; returns the last values."""
    before, body, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
    builder.branch(body)
    builder.position_at_end(body)
    done = builder.phi(steps.type)
    now = [builder.phi(value.type) for value in start]
    following = now
    for _ in range(UNROLLED):
        following = [step(x) for x in following]
    one_more = builder.add(done, steps.type(1))
    for phi, first, then in zip([done, *now], [steps.type(0), *start], [one_more, *following], strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(then, body)
    builder.cbranch(builder.icmp_signed("<", one_more, steps), body, after)
    builder.position_at_end(after)
    return following


@functools.cache
def chains(dtype: str, lanes: int, count: int) -> functools.partial[float]:
    """Returns a compiled loop: ``count`` independent chains of vectors of ``lanes`` numbers, as many steps as asked.

    They are asked for in multiples of `UNROLLED`; what is left over is left out, but one round is always made.
    A step replaces x by ax + b, one fused multiply-add of each number, or, for whole numbers, by (x + a) xor b: two
    operations, each of which needs the one before. The compiler knows neither a nor b. The loop returns the sum of
    the first lanes. The chapter *Hardware* tells the story.
    """
    element, number = TYPES[dtype], getattr(types, dtype)
    kind = ir.VectorType(element, lanes) if lanes > 1 else element

    def emit(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
        a, b = (_spread(builder, value, kind) for value in arguments[1:])
        start = [_spread(builder, element(i + 1), kind) for i in range(count)]
        rounds = builder.sdiv(arguments[0], ir.IntType(64)(UNROLLED))
        ends = _repeat(builder, rounds, start, lambda x: _step(builder, x, a, b))
        total = functools.reduce(builder.fadd if _is_float(element) else builder.add, ends)
        return builder.extract_element(total, INDEX(0)) if lanes > 1 else total

    @intrinsic
    def run(typing: Any, steps: Any, a: Any, b: Any) -> Any:
        return number(types.int64, number, number), emit

    @numba.njit(number(types.int64, number, number), nogil=True)
    def loop(steps: int, a: float, b: float) -> float:
        return run(steps, a, b)  # type: ignore[call-arg]

    return functools.partial(loop, a=0.5, b=1.0) if _is_float(element) else functools.partial(loop, a=3, b=5)


def assembly(loop: functools.partial[float]) -> str:
    """Returns the instructions that LLVM made of a loop."""
    return "".join(loop.func.inspect_asm().values())  # type: ignore[attr-defined]


@numba.njit(nogil=True)
def _axpy(a: float, x: np.ndarray, y: np.ndarray) -> None:
    for i in range(len(x)):
        y[i] += a * x[i]


def automatic_width() -> int:
    """Returns the bits of the widest registers that LLVM takes by itself for a loop over two float32 arrays."""
    _axpy.compile("void(float32, float32[::1], float32[::1])")
    text = "".join(_axpy.inspect_asm().values())
    return next((bits for name, bits in (("zmm", 512), ("ymm", 256)) if f"%{name}" in text), 128)
