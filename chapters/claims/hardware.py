"""The claims of the chapter *Hardware*."""

from __future__ import annotations

from booktools.claims import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="hardware.levels",
        keys=("hardware.latency-levels",),
        holds=lambda r: r["hardware.latency-levels"].median >= 10,
    ),
    Claim(
        id="hardware.line",
        keys=("hardware.line-share",),
        holds=lambda r: r["hardware.line-share"].median >= 3,
    ),
    Claim(
        id="hardware.sizes",
        keys=("hardware.l1-detected", "hardware.l2-detected"),
        holds=lambda r: all(0.5 < r[f"hardware.l{n}-detected"] < 2 for n in (1, 2)),
        needs=("linux",),
    ),
    Claim(
        id="hardware.padding",
        keys=("hardware.padding-gain",),
        holds=lambda r: r["hardware.padding-gain"].median >= 1.5,
    ),
    Claim(
        id="hardware.false-sharing",
        keys=("hardware.false-sharing",),
        holds=lambda r: r["hardware.false-sharing"].median >= 1.2,
        needs=("cores>=2",),
    ),
)
