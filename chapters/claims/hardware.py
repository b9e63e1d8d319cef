"""The claims of the chapter *Hardware*."""

from __future__ import annotations

from booktools.claims import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="hardware.flight",
        keys=("hardware.flight-gain",),
        holds=lambda r: r["hardware.flight-gain"].median > 2,
    ),
    Claim(
        id="hardware.vectors",
        keys=("hardware.simd-gain", "hardware.simd-int8-gain"),
        holds=lambda r: min(r["hardware.simd-gain"].median, r["hardware.simd-int8-gain"].median) > 3,
    ),
    Claim(
        id="hardware.fma-peak",
        keys=("hardware.fma-share-one",),
        holds=lambda r: 0.85 < r["hardware.fma-share-one"].median < 1.1,
    ),
    Claim(
        id="hardware.product-bound",
        keys=("hardware.product-float32-share",),
        holds=lambda r: r["hardware.product-float32-share"].median < 1.1,
    ),
    Claim(
        id="hardware.mispredict",
        keys=("hardware.mispredict-cycles",),
        holds=lambda r: 5 < r["hardware.mispredict-cycles"].median < 60,
    ),
    Claim(
        id="hardware.roof",
        keys=("hardware.roof-highest",),
        holds=lambda r: r["hardware.roof-highest"] < 1.8,
    ),
    Claim(
        id="hardware.roof-low",
        keys=("hardware.roof-low",),
        holds=lambda r: r["hardware.roof-low"] > 3,
    ),
    Claim(
        id="hardware.new-memory",
        keys=("hardware.new-memory",),
        holds=lambda r: r["hardware.new-memory"].median > 1.2,
    ),
)
