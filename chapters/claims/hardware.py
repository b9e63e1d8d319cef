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
)
