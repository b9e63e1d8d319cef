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
)
