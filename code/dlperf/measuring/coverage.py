"""Report what a step's prediction leaves out: operators without a FLOP formula, and operators that were not timed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import torch

from dlperf.models.cost import FORMULAS, Operator

Call = tuple[str, int, int]
"""A name, FLOPs and bytes."""
FLOPS_PER_BYTE = 10
"""A processor's ridge point, roughly: which calls are heavy is asked before anything is measured."""


def call(op: Operator) -> Call:
    """Returns what stands for an operator and all others of its name and size."""
    return op.name, op.flops, op.bytes


def heaviest(ops: Iterable[Operator]) -> list[Operator]:
    """Returns an operator for each name and size, those first whose calls together have most to do."""
    work = defaultdict[Call, float](float)
    calls = {}
    for op in ops:
        work[call(op)] += _work(op)
        calls[call(op)] = op
    return sorted(calls.values(), key=lambda op: -work[call(op)])


def _work(op: Operator) -> float:
    """Returns the bytes of an operator, or its FLOPs in bytes where these take longer."""
    return max(op.bytes, op.flops / FLOPS_PER_BYTE)


def untimed(ops: Sequence[Operator], seconds: Mapping[Call, float]) -> str:
    """Returns which operators have no ``seconds``, how many calls and which share of the step's work; "" for none.

    What they would take is not known: their work is bytes, or FLOPs where these take longer.
    """
    missing = [op for op in ops if call(op) not in seconds]
    if not missing:
        return ""
    share = sum(map(_work, missing)) / max(sum(map(_work, ops)), 1)
    names = list(dict.fromkeys(op.name for op in heaviest(missing)))
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    named = ", ".join(names[:5]) + more
    return f"not timed alone: {len(missing)} of {len(ops)} calls with {share:.1%} of the work, of {named}"


def without_formula(ops: Sequence[Operator], seconds: Mapping[Call, float] | None = None) -> dict[str, float]:
    """Returns the operators that count as moving bytes only, with their share of the bytes; the largest first.

    With the ``seconds`` of each call it is their share of these. An operator that multiplies should not be among them:
    the FLOPs of a step lack its own.
    """
    size = lambda op: op.bytes if seconds is None else seconds.get(call(op), 0.0)
    whole = sum(map(size, ops)) or 1
    known = {packet.__name__ for packet in FORMULAS}
    found = defaultdict[str, float](float)
    for op in ops:
        if op.name not in known:
            found[op.name] += size(op) / whole
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def is_pointwise(name: str) -> bool:
    """Returns whether PyTorch calls an operator pointwise: a few FLOPs for each number, fewer than bytes moved."""
    packet = getattr(torch.ops.aten, name, None)
    return any(torch.Tag.pointwise in getattr(packet, each).tags for each in packet.overloads()) if packet else False
