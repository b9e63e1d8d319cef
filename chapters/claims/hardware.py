"""The claims of the chapter *Hardware*."""

from __future__ import annotations

from booktools.claims import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="hardware.eight-chains",
        keys=("hardware.eight-over-one",),
        holds=lambda r: r["hardware.eight-over-one"].median < 4,
    ),
    Claim(
        id="hardware.large-products",
        keys=("hardware.product-float32", "hardware.product-small"),
        holds=lambda r: r["hardware.product-float32"].median > 2 * r["hardware.product-small"].median,
    ),
    Claim(
        id="hardware.copies-cached",
        keys=("hardware.copy-best", "hardware.copy-large"),
        holds=lambda r: r["hardware.copy-best"].median > 1.5 * r["hardware.copy-large"].median,
    ),
    Claim(
        id="hardware.gpu-pinned",
        keys=("hardware.gpu-to-pinned", "hardware.gpu-to-pageable"),
        holds=lambda r: r["hardware.gpu-to-pinned"].median < r["hardware.gpu-to-pageable"].median,
        needs=("cuda",),
    ),
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
        holds=lambda r: r["hardware.product-float32-share"] < 1.1,
    ),
    Claim(
        id="hardware.mispredict",
        keys=("hardware.mispredict-cycles",),
        holds=lambda r: 5 < r["hardware.mispredict-cycles"] < 60,
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
