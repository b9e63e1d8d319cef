"""The claims of the chapter *Hardware*."""

from __future__ import annotations

from booktools.claims import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="hardware.page-cache",
        keys=("hardware.read-cached-speedup",),
        holds=lambda r: r["hardware.read-cached-speedup"].median > 5,
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
        keys=("hardware.missed-loopback", "hardware.missed-gigabit"),
        holds=lambda r: max(r["hardware.missed-loopback"], r["hardware.missed-gigabit"]) < 0.25,
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
)
