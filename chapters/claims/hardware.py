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
        keys=("hardware.square-float32", "hardware.square-small"),
        holds=lambda r: r["hardware.square-float32"].median > 2 * r["hardware.square-small"].median,
    ),
    Claim(
        id="hardware.copies-cached",
        keys=("hardware.copy-cached", "hardware.copy-large"),
        holds=lambda r: r["hardware.copy-cached"].median > 1.5 * r["hardware.copy-large"].median,
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
        holds=lambda r: r["hardware.latency-levels"] >= 10,
    ),
    Claim(
        id="hardware.line",
        keys=("hardware.line-share",),
        holds=lambda r: r["hardware.line-share"].median >= 3,
    ),
    Claim(
        id="hardware.sizes",
        keys=("hardware.l1-detected", "hardware.l2-detected"),
        holds=lambda r: all(1 / 3 < r[f"hardware.l{n}-detected"] < 3 for n in (1, 2)),
        needs=("linux",),
    ),
    Claim(
        id="hardware.padding",
        keys=("hardware.padding-gain",),
        holds=lambda r: r["hardware.padding-gain"].median >= 1.5,
    ),
    Claim(
        id="hardware.false-sharing",
        keys=("hardware.false-sharing", "hardware.beside-eight"),
        holds=lambda r: r["hardware.false-sharing"].median >= 1.2 or r["hardware.beside-eight"].median > 1.6,
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
        keys=("hardware.fma-of-published",),
        holds=lambda r: 0.7 < r["hardware.fma-of-published"].median < 1.2,
    ),
    Claim(
        id="hardware.product-bound",
        keys=("hardware.product-float32-share",),
        holds=lambda r: r["hardware.product-float32-share"].median < 1.1,
        needs=("linux",),
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
        needs=("linux",),
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
    Claim(
        id="hardware.page-cache",
        keys=("hardware.read-cached-speedup",),
        holds=lambda r: r["hardware.read-cached-speedup"] > 5,
        needs=("linux",),
    ),
    Claim(
        id="hardware.kept",
        keys=("hardware.write-4k-kept", "hardware.write-4k-buffered"),
        holds=lambda r: r["hardware.write-4k-kept"].median > 5 * r["hardware.write-4k-buffered"].median,
        needs=("linux",),
    ),
    Claim(
        id="hardware.disk-line",
        keys=("hardware.disk-missed",),
        holds=lambda r: r["hardware.disk-missed"] < 0.35,
        needs=("linux",),
    ),
    Claim(
        id="hardware.depth",
        keys=("hardware.depth-gain",),
        holds=lambda r: r["hardware.depth-gain"] > 1.5,
        needs=("linux",),
    ),
    Claim(
        id="hardware.fio",
        keys=("hardware.fio-random", "hardware.fio-deep"),
        holds=lambda r: all(0.8 < r[f"hardware.fio-{name}"].median < 1.25 for name in ("random", "deep")),
        needs=("linux",),
    ),
    Claim(
        id="hardware.links-line",
        keys=("hardware.missed-gigabit",),
        holds=lambda r: r["hardware.missed-gigabit"] < 0.25,
        needs=("linux",),
    ),
    Claim(
        id="hardware.core-to-core",
        keys=("hardware.core-to-core", "hardware.alpha-loopback"),
        holds=lambda r: r["hardware.core-to-core"].median < r["hardware.alpha-loopback"] / 10,
        needs=("cores>=2",),
    ),
    Claim(
        id="hardware.goodput",
        keys=("hardware.goodput-gigabit", "hardware.payload"),
        holds=lambda r: abs(r["hardware.goodput-gigabit"].median / r["hardware.payload"] - 1) < 0.03,
        needs=("linux",),
    ),
    Claim(
        id="hardware.iperf3",
        keys=("hardware.iperf3-gigabit",),
        holds=lambda r: abs(r["hardware.iperf3-gigabit"].median - 1) < 0.05,
        needs=("linux",),
    ),
    Claim(
        id="hardware.mbw",
        keys=("hardware.mbw-ratio",),
        holds=lambda r: 0.75 < r["hardware.mbw-ratio"].median < 1.25,
        needs=("linux",),
    ),
)
