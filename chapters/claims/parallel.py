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
        keys=("parallel.at-once",),
        holds=lambda r: r["parallel.at-once"].median > 0.5,
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
        needs=("linux", "cores>=2"),
    ),
    Claim(
        id="parallel.large-products",
        keys=("parallel.gain-large", "parallel.gain-small"),
        holds=lambda r: r["parallel.gain-large"].median < min(1.1, r["parallel.gain-small"].median),
        needs=("linux", "cores>=2"),
    ),
    Claim(
        id="parallel.crossover",
        keys=("parallel.crossover", "parallel.crossover-predicted"),
        holds=lambda r: 0.5 < r["parallel.crossover-predicted"] / r["parallel.crossover"] < 2,
        needs=("linux", "cores>=2"),
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
    Claim(
        id="parallel.bound-broken",
        keys=("parallel.bound-broken",),
        holds=lambda r: r["parallel.bound-broken"].median < 1,
        needs=("linux",),
    ),
    Claim(
        id="parallel.bound-one-queue",
        keys=("parallel.bound-one-queue",),
        holds=lambda r: r["parallel.bound-one-queue"] == 0,
    ),
    Claim(
        id="parallel.bound-two-queues",
        keys=("parallel.bound-hidden-first", "parallel.bound-hidden-turn"),
        holds=lambda r: all(r[f"parallel.bound-hidden-{order}"].median > 0.5 for order in ("first", "turn")),
        needs=("cores>=2",),
    ),
    Claim(
        id="parallel.bound-gpu",
        keys=("parallel.bound-gpu-broken", "parallel.bound-gpu-one", "parallel.bound-gpu-two"),
        holds=lambda r: (
            r["parallel.bound-gpu-broken"].median < 1
            and r["parallel.bound-gpu-one"] == 0
            and r["parallel.bound-gpu-two"] > 0.5
        ),
        needs=("cuda",),
    ),
    Claim(
        id="parallel.pipeline",
        keys=("parallel.pipeline-bound", "parallel.pipeline-speedup"),
        holds=lambda r: r["parallel.pipeline-bound"].median < 1.5 and r["parallel.pipeline-speedup"].median > 1.25,
        needs=("cores>=2",),
    ),
    Claim(
        id="parallel.chunks",
        keys=("parallel.slower-fit",),
        holds=lambda r: 0.85 < r["parallel.slower-fit"].median < 1.1,
        needs=("cores>=2",),
    ),
    Claim(
        id="parallel.as-ready",
        keys=("parallel.as-ready-gain",),
        holds=lambda r: r["parallel.as-ready-gain"].median > 1.15,
        needs=("cores>=2",),
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
        needs=("cores>=2",),
    ),
    Claim(
        id="parallel.today-eager",
        keys=("parallel.today-eager-share",),
        holds=lambda r: r["parallel.today-eager-share"] == 0,
    ),
    Claim(
        id="parallel.today-engine",
        keys=("parallel.today-engine-share",),
        holds=lambda r: r["parallel.today-engine-share"] > 0.5,
        needs=("cores>=2",),
    ),
    Claim(
        id="parallel.today-xla",
        keys=("parallel.today-xla-8-share", "parallel.today-xla-32-share"),
        holds=lambda r: r["parallel.today-xla-8-share"] < 0.1 and r["parallel.today-xla-32-share"] > 0.5,
        needs=("cores>=2",),
    ),
    Claim(
        id="parallel.today-same",
        keys=("parallel.today-results",),
        holds=lambda r: r["parallel.today-results"] == 1,
    ),
)
