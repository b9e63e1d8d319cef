"""The claims of the chapter *Compilers and interpreters*."""

from __future__ import annotations

from booktools.claims import Claim

FUSED = tuple(f"compilers.{memory}-{way}" for memory in ("plain", "kept") for way in ("ours", "torch"))

CLAIMS = (
    Claim(
        id="compilers.freedom",
        keys=("compilers.kept-torch-compile",),
        holds=lambda r: r["compilers.kept-torch-compile"] == 8,
    ),
    Claim(
        id="compilers.python",
        keys=("compilers.python-factor",),
        holds=lambda r: r["compilers.python-factor"].median > 1.3,
    ),
    Claim(
        id="compilers.entry",
        keys=("compilers.guarded-factor",),
        holds=lambda r: r["compilers.guarded-factor"].median > 3,
    ),
    Claim(
        id="compilers.mlp-entry",
        keys=("compilers.mlp-entering", "compilers.mlp-relu"),
        holds=lambda r: r["compilers.mlp-entering"].median > r["compilers.mlp-relu"].median,
    ),
    Claim(
        id="compilers.aoti",
        keys=("compilers.aoti-speedup",),
        holds=lambda r: r["compilers.aoti-speedup"].median > 1,
    ),
    Claim(
        id="compilers.fusion",
        keys=FUSED,
        holds=lambda r: all(r[key].median >= 0.7 * 8 for key in FUSED),
    ),
    Claim(
        id="compilers.traffic",
        keys=("compilers.eager-fit",),
        holds=lambda r: 0.75 < r["compilers.eager-fit"] < 1.25,
        needs=("linux",),
    ),
    Claim(
        id="compilers.fused",
        keys=("compilers.fused-ratio",),
        holds=lambda r: r["compilers.fused-ratio"].median <= 1.2,
    ),
)
