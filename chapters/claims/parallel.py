"""The claims of the chapter *Automatic parallelism*."""

from __future__ import annotations

from booktools.claims import Claim

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="parallel.one-by-one",
        keys=("parallel.two-sorts",),
        holds=lambda r: r["parallel.two-sorts"].median > 1.6,
    ),
    Claim(
        id="parallel.two-devices",
        keys=("parallel.together",),
        holds=lambda r: r["parallel.together"].median < 0.75,
        needs=("cores>=2",),
    ),
    Claim(
        id="parallel.same-values",
        keys=("parallel.difference",),
        holds=lambda r: r["parallel.difference"] < 1e-5,
    ),
    Claim(
        id="parallel.small-products",
        keys=("parallel.gain-small",),
        holds=lambda r: r["parallel.gain-small"].median > 1.1,
        needs=("cores>=2",),
    ),
    Claim(
        id="parallel.large-products",
        keys=("parallel.gain-large", "parallel.gain-small"),
        holds=lambda r: r["parallel.gain-large"].median < min(1.1, r["parallel.gain-small"].median),
    ),
    Claim(
        id="parallel.crossover",
        keys=("parallel.crossover", "parallel.crossover-predicted"),
        holds=lambda r: 0.5 < r["parallel.crossover-predicted"] / r["parallel.crossover"] < 2,
        needs=("cores>=2",),
    ),
    Claim(
        id="parallel.rule",
        keys=("parallel.step-own-fit",),
        holds=lambda r: 0.9 < r["parallel.step-own-fit"].median < 1.1,
    ),
    Claim(
        id="parallel.random",
        keys=("parallel.random-engine",),
        holds=lambda r: r["parallel.random-engine"] < 1.15,
    ),
)
