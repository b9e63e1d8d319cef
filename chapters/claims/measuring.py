"""The claims of the chapter *Measuring performance*."""

from __future__ import annotations

from math import log

from booktools.claims import Claim

CLAIMS = (
    Claim(
        id="measuring.intensity",
        keys=("measuring.batch-1", "measuring.batch-256"),
        holds=lambda r: r["measuring.batch-256"].median > 2 * r["measuring.batch-1"].median,
    ),
    Claim(
        id="measuring.warm-up",
        keys=("measuring.first-call", "measuring.warm-call"),
        holds=lambda r: r["measuring.first-call"].median > r["measuring.warm-call"].median,
    ),
    Claim(
        id="measuring.synchronization",
        keys=("measuring.returned", "measuring.finished"),
        holds=lambda r: r["measuring.returned"].median < r["measuring.finished"].median / 2,
    ),
    Claim(
        id="measuring.precision",
        keys=("measuring.precision", "measuring.library"),
        holds=lambda r: log(r["measuring.precision"].median) > abs(log(r["measuring.library"].median)),
    ),
    Claim(
        id="measuring.allocation",
        keys=("measuring.new-memory", "measuring.kept-memory"),
        holds=lambda r: r["measuring.new-memory"].median > r["measuring.kept-memory"].median,
    ),
    Claim(
        id="measuring.threads",
        keys=("measuring.one-thread", "measuring.all-threads"),
        holds=lambda r: r["measuring.all-threads"].median < r["measuring.one-thread"].median,
        needs=("cores>=2",),
    ),
    Claim(
        id="measuring.bimodal",
        keys=("measuring.near-mean",),
        holds=lambda r: r["measuring.near-mean"] < 0.1,
    ),
    Claim(
        id="measuring.repeats",
        keys=("measuring.width-50", "measuring.width-200"),
        holds=lambda r: 1.4 < r["measuring.width-50"] / r["measuring.width-200"] < 2.8,
    ),
    Claim(
        id="measuring.amdahl",
        keys=("measuring.amdahl-predicted", "measuring.amdahl-measured"),
        holds=lambda r: (
            r["measuring.amdahl-measured"].median >= 0.8 * r["measuring.amdahl-predicted"]
            and r["measuring.amdahl-measured"].interval()[0] <= r["measuring.amdahl-predicted"]
        ),
        needs=("cores>=2",),
    ),
    Claim(
        id="measuring.oversubscription",
        keys=("measuring.one-too-many",),
        holds=lambda r: r["measuring.one-too-many"] < 1,
        needs=("cores>=2", "linux"),
    ),
    Claim(
        id="measuring.little",
        keys=("measuring.little-error",),
        holds=lambda r: r["measuring.little-error"] < 0.1,
    ),
    Claim(
        id="measuring.overhead",
        keys=("measuring.fixed", "measuring.asked-time"),
        holds=lambda r: r["measuring.fixed"].median > r["measuring.asked-time"],
    ),
)
