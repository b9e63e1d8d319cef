"""Loops that stay in the registers: chains of operations, of any type, vector width and number."""

from __future__ import annotations

import functools
import platform
import re
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


def _step(builder: ir.IRBuilder, x: Any, a: Any, b: Any, lanes: int, floating: bool) -> Any:
    """Emits what a chain does to ``x``: one FMA, or two dependent operations on whole numbers."""
    if floating:
        kind = f"v{x.type.count}{x.type.element.intrinsic_name}" if lanes > 1 else x.type.intrinsic_name
        fma = ir.FunctionType(x.type, [x.type] * 3)
        return builder.call(cgutils.get_or_insert_function(builder.module, fma, f"llvm.fmuladd.{kind}"), [x, a, b])
    return builder.xor(builder.add(x, a), b)


@functools.cache
def chains(dtype: str, lanes: int, count: int) -> functools.partial[float]:
    """Returns a compiled loop: ``count`` independent chains of vectors of ``lanes`` numbers, as many steps as asked.

    A step replaces x by ax + b, one *fused multiply-add* of each number, or, for whole numbers, by (x + a) xor b:
    two operations, each of which needs the one before. The compiler knows neither a nor b. The chapter *Hardware*
    tells the story.
    """
    element = TYPES[dtype]
    floating = dtype.startswith("float")
    vector = ir.VectorType(element, lanes) if lanes > 1 else element

    @intrinsic
    def run(typing: Any, steps: Any, a: Any, b: Any) -> Any:
        def emit(context: Any, builder: ir.IRBuilder, signature: Any, arguments: Any) -> Any:
            def spread(value: Any) -> Any:
                value = builder.fptrunc(value, element) if bits(dtype) < 64 and floating else value
                value = value if floating else builder.fptosi(value, element)
                if lanes == 1:
                    return value
                one = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.IntType(32)(0))
                return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes))

            steps, (a, b) = arguments[0], map(spread, arguments[1:])
            before = builder.block
            body, after = builder.append_basic_block("chains"), builder.append_basic_block("after")
            first = [ir.Constant(element, i + 1) for i in range(count)]
            first = [ir.Constant(vector, [c] * lanes) if lanes > 1 else c for c in first]
            builder.branch(body)
            builder.position_at_end(body)
            done = builder.phi(steps.type)
            state = [builder.phi(vector) for _ in range(count)]
            for x, start in zip(state, first, strict=True):
                x.add_incoming(start, before)
                x.add_incoming(_step(builder, x, a, b, lanes, floating), body)
            done.add_incoming(steps.type(0), before)
            done.add_incoming(builder.add(done, steps.type(1)), body)
            builder.cbranch(builder.icmp_signed("<", done.incomings[1][0], steps), body, after)
            builder.position_at_end(after)
            total = functools.reduce(builder.fadd if floating else builder.add, [x.incomings[1][0] for x in state])
            total = builder.extract_element(total, ir.IntType(32)(0)) if lanes > 1 else total
            if not floating:
                return builder.sitofp(total, ir.DoubleType())
            return builder.fpext(total, ir.DoubleType()) if bits(dtype) < 64 else total

        return types.float64(types.int64, types.float64, types.float64), emit

    @numba.njit("float64(int64, float64, float64)", nogil=True)
    def loop(steps: int, a: float, b: float) -> float:
        return run(steps, a, b)  # type: ignore[call-arg]

    return functools.partial(loop, a=0.5 if floating else 3.0, b=1.0 if floating else 5.0)


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
