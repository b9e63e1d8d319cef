"""The claims of the chapter *Automatic parallelism*."""

from __future__ import annotations

from booktools.claims import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="parallel.pipeline",
        keys=("parallel.pipeline-bound", "parallel.in-turn-bound"),
        holds=lambda r: r["parallel.pipeline-bound"].median < 1.3 and r["parallel.in-turn-bound"].median > 1.6,
    ),
    Claim(
        id="parallel.chunks",
        keys=("parallel.sixteen-fit",),
        holds=lambda r: 0.8 < r["parallel.sixteen-fit"].median < 1.15,
    ),
    Claim(
        id="parallel.as-ready",
        keys=("parallel.as-ready-gain",),
        holds=lambda r: r["parallel.as-ready-gain"].median > 1.15,
    ),
    Claim(
        id="parallel.same-gradient",
        keys=("parallel.gradient-error",),
        holds=lambda r: r["parallel.gradient-error"] < 1e-5,
    ),
    Claim(
        id="parallel.backward-fit",
        keys=("parallel.step-at-the-end-fit", "parallel.step-as-ready-fit", "parallel.step-ddp-fit"),
        holds=lambda r: all(
            0.75 < r[f"parallel.step-{way}-fit"].median < 1.15 for way in ("at-the-end", "as-ready", "ddp")
        ),
    ),
)
