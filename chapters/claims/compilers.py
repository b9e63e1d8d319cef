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
        id="compilers.mlp-fit",
        keys=("compilers.mlp-worst-fit",),
        holds=lambda r: 0.7 < r["compilers.mlp-worst-fit"] < 1.3,
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
        holds=lambda r: 0.75 < r["compilers.eager-fit"].median < 1.25,
        needs=("linux",),
    ),
    Claim(
        id="compilers.fused",
        keys=("compilers.fused-ratio",),
        holds=lambda r: r["compilers.fused-ratio"].median <= 1.2,
    ),
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
        id="compilers.mode-gain",
        keys=("compilers.mode-gain",),
        holds=lambda r: r["compilers.mode-gain"].quartiles[0] > 1,
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
