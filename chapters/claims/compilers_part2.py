"""The claims of the second half of *Compilers and interpreters*."""

from __future__ import annotations

from booktools.claims import Claim

CLAIMS = (
    Claim(
        id="compilers.cache",
        keys=("compilers.cold-factor",),
        holds=lambda r: r["compilers.cold-factor"] > 1 / 0.7,
    ),
    Claim(
        id="compilers.chain-gain",
        keys=("compilers.chain-gain",),
        holds=lambda r: r["compilers.chain-gain"].median >= 2,
    ),
    Claim(
        id="compilers.shapes",
        keys=("compilers.graphs-default", "compilers.graphs-static", "compilers.graphs-dynamic"),
        holds=lambda r: (
            r["compilers.graphs-static"] == 5
            and r["compilers.graphs-default"] < 5
            and r["compilers.graphs-default"] <= r["compilers.graphs-dynamic"] + 1
        ),
    ),
    Claim(
        id="compilers.breaks",
        keys=("compilers.breaks-if", "compilers.breaks-where", "compilers.breaks-cond"),
        holds=lambda r: [r[f"compilers.breaks-{branch}"] for branch in ("if", "where", "cond")] == [1, 0, 0],
    ),
    Claim(
        id="compilers.graph",
        keys=("compilers.graph-gain",),
        holds=lambda r: r["compilers.graph-gain"].median > 2,
        needs=("cuda",),
    ),
    Claim(
        id="compilers.mode-loops",
        keys=("compilers.same-loops",),
        holds=lambda r: r["compilers.same-loops"] == 1,
        needs=("compiler",),
    ),
    Claim(
        id="compilers.cpp-equal",
        keys=("compilers.cpp-difference",),
        holds=lambda r: r["compilers.cpp-difference"] <= 1e-6,
        needs=("compiler",),
    ),
    Claim(
        id="compilers.cpp-faster",
        keys=("compilers.cpp-gain",),
        holds=lambda r: r["compilers.cpp-gain"].median > 1,
        needs=("compiler",),
    ),
    Claim(
        id="compilers.losses",
        keys=("compilers.early-difference",),
        holds=lambda r: r["compilers.early-difference"] < 0.001,
    ),
)
