"""The claims of the chapter *Compilers and interpreters*, and what else its text follows."""

from __future__ import annotations

from booktools.claims import Bound, Claim, Outcome, Rival

FUSED = tuple(f"compilers.{memory}-{way}" for memory in ("plain", "kept") for way in ("ours", "torch"))
MOVED = {"compilers.large-eager-cost": 5 / 3, "compilers.large-break-cost": 4 / 3, "compilers.large-cond-cost": 5 / 3}
BREAKS = {"compilers.breaks-if": 1, "compilers.breaks-where": 0, "compilers.breaks-cond": 0}

CLAIMS = (
    Claim(
        id="compilers.freedom",
        keys=("compilers.kept-torch-compile", "compilers.kept-torch-jit-trace"),
        holds=lambda r: r["compilers.kept-torch-compile"] == 8,
        rival=Rival(
            "it takes for granted what a trace does",
            lambda r: {"compilers.kept-torch-compile": r["compilers.kept-torch-jit-trace"]},
        ),
    ),
    Claim(
        id="compilers.python",
        keys=("compilers.python-factor",),
        holds=lambda r: r["compilers.python-factor"].median > 1.3,
        rival=Rival("asking costs what the library does", lambda r: {"compilers.python-factor": 1}),
    ),
    Claim(
        id="compilers.entry",
        keys=("compilers.guarded-factor",),
        holds=lambda r: r["compilers.guarded-factor"].median >= 3,
        rival=Rival("to enter costs as much as one addition", lambda r: {"compilers.guarded-factor": 2}),
    ),
    Claim(
        id="compilers.mlp-fit",
        keys=("compilers.mlp-worst-fit", "compilers.mlp-free-fit"),
        holds=lambda r: 0.85 < r["compilers.mlp-worst-fit"].median < 1.15,
        rival=Rival(
            "what is saved is all: to enter and to run the generated program costs nothing",
            lambda r: {"compilers.mlp-worst-fit": r["compilers.mlp-free-fit"].median},
        ),
    ),
    Claim(
        id="compilers.late",
        keys=("compilers.mlp-late-compiled", "compilers.mlp-compiled"),
        holds=lambda r: r["compilers.mlp-late-compiled"].median >= 2 * r["compilers.mlp-compiled"].median,
        rival=Rival(
            "a call is a call, whatever ran before",
            lambda r: {"compilers.mlp-late-compiled": r["compilers.mlp-compiled"].median},
        ),
    ),
    Claim(
        id="compilers.aoti",
        keys=("compilers.aoti-speedup",),
        holds=lambda r: r["compilers.aoti-speedup"].median >= 1.1,
        rival=Rival("guards cost nothing", lambda r: {"compilers.aoti-speedup": 1}),
    ),
    Claim(
        id="compilers.fusion",
        keys=FUSED,
        holds=lambda r: all(r[key].median >= 0.7 * 8 for key in FUSED),
        rival=Rival("two loops of four operations, not one of eight", lambda r: dict.fromkeys(FUSED, 4)),
    ),
    Claim(
        id="compilers.traffic",
        keys=("compilers.eager-fit", "compilers.plain-share"),
        holds=lambda r: 0.75 < r["compilers.eager-fit"].median < 1.25,
        needs=("linux",),
        rival=Rival(
            "memory is not kept, and the time is that of new pages",
            lambda r: {"compilers.eager-fit": r["compilers.plain-share"].median},
        ),
    ),
    Claim(
        id="compilers.loop",
        keys=("compilers.loop-growth",),
        holds=lambda r: r["compilers.loop-growth"].median <= 1.2,
        rival=Rival("two loops of four operations, not one of eight", lambda r: {"compilers.loop-growth": 2}),
    ),
    Claim(
        id="compilers.fused",
        keys=("compilers.fused-ratio",),
        holds=lambda r: r["compilers.fused-ratio"].median <= 1.2,
        rival=Rival("one of two threads computes", lambda r: {"compilers.fused-ratio": 2}),
    ),
    Claim(
        id="compilers.cache",
        keys=("compilers.cold-factor",),
        holds=lambda r: r["compilers.cold-factor"] > 1 / 0.7,
        rival=Rival("nothing on disk is used again", lambda r: {"compilers.cold-factor": 1}),
    ),
    Claim(
        id="compilers.further",
        keys=("compilers.further", "compilers.cold"),
        holds=lambda r: r["compilers.further"].median < r["compilers.cold"] / 3,
        rival=Rival("each graph costs what the first one did", lambda r: {"compilers.further": r["compilers.cold"]}),
    ),
    Claim(
        id="compilers.chain-gain",
        keys=("compilers.chain-gain",),
        holds=lambda r: r["compilers.chain-gain"].median >= 4,
        needs=("cuda",),
        rival=Rival("operations are fused in pairs", lambda r: {"compilers.chain-gain": 2}),
    ),
    Claim(
        id="compilers.shapes",
        keys=("compilers.graphs-default", "compilers.graphs-static", "compilers.graphs-dynamic"),
        holds=lambda r: (
            r["compilers.graphs-static"] == 5
            and r["compilers.graphs-default"] < 5
            and r["compilers.graphs-default"] <= r["compilers.graphs-dynamic"] + 1
        ),
        rival=Rival("by default, too, each size gets a graph", lambda r: {"compilers.graphs-default": 5}),
    ),
    Claim(
        id="compilers.breaks",
        keys=tuple(BREAKS),
        holds=lambda r: all(r[key] == count for key, count in BREAKS.items()),
        rival=Rival("whoever asks for a value breaks the graph", lambda r: dict.fromkeys(BREAKS, 1)),
    ),
    Claim(
        id="compilers.graph",
        keys=("compilers.graph-gain",),
        holds=lambda r: r["compilers.graph-gain"].median > 2,
        needs=("cuda",),
        rival=Rival("launches hide behind kernels", lambda r: {"compilers.graph-gain": 1}),
    ),
    Claim(
        id="compilers.mode-gain",
        keys=("compilers.mode-gain",),
        holds=lambda r: r["compilers.mode-gain"].median >= 1.1,
        needs=("cuda",),
        rival=Rival("launches hide behind what surrounds them", lambda r: {"compilers.mode-gain": 1}),
    ),
    Claim(
        id="compilers.mode-loops",
        keys=("compilers.same-loops",),
        holds=lambda r: r["compilers.same-loops"] == 1,
        needs=("compiler",),
        rival=Rival("the mode generates other loops", lambda r: {"compilers.same-loops": 0}),
    ),
    Claim(
        id="compilers.cpp-equal",
        keys=("compilers.cpp-equal",),
        holds=lambda r: r["compilers.cpp-equal"] == 1,
        needs=("compiler",),
        rival=Rival("another order of summing, another last digit", lambda r: {"compilers.cpp-equal": 0}),
    ),
    Claim(
        id="compilers.cpp-faster",
        keys=("compilers.cpp-gain",),
        holds=lambda r: r["compilers.cpp-gain"].median >= 1.2,
        needs=("compiler",),
        rival=Rival("the call from Python costs nothing", lambda r: {"compilers.cpp-gain": 1}),
    ),
    Claim(
        id="compilers.cpp-fit",
        keys=("compilers.cpp-fit", "compilers.cpp-gain", "compilers.cpp-gain-64"),
        holds=lambda r: 0.85 < r["compilers.cpp-fit"].median < 1.15,
        needs=("compiler",),
        rival=Rival(
            "C++ is faster by a factor, not by an overhead",
            lambda r: {
                "compilers.cpp-fit": r["compilers.cpp-fit"].median
                * (r["compilers.cpp-gain-64"].median / r["compilers.cpp-gain"].median)
            },
        ),
    ),
    Claim(
        id="compilers.losses",
        keys=("compilers.early-difference", "compilers.early-control", "compilers.early-wrong"),
        holds=lambda r: r["compilers.early-difference"] <= 10 * r["compilers.early-control"],
        rival=Rival(
            "compiled steps are off by a thousandth",
            lambda r: {"compilers.early-difference": r["compilers.early-wrong"]},
        ),
    ),
)

OUTCOMES = (
    Outcome(
        id="compilers.breaks-traffic",
        keys=tuple(MOVED),
        holds=lambda r: all(0.9 * ratio < r[key].median < 1.1 * ratio for key, ratio in MOVED.items()),
    ),
    Outcome(
        id="compilers.from-caches",
        keys=("compilers.border-rate", "compilers.border-bandwidth"),
        holds=lambda r: r["compilers.border-rate"] > r["compilers.border-bandwidth"].median,
    ),
    Outcome(
        id="compilers.new-memory",
        keys=("compilers.right-end",),
        holds=lambda r: r["compilers.right-end"] < 0.75,
    ),
    Outcome(
        id="compilers.mlp-loses",
        keys=("compilers.mlp-speedup",),
        holds=lambda r: r["compilers.mlp-speedup"].median < 1,
    ),
    Outcome(
        id="compilers.mlp-steady",
        keys=("compilers.mlp-worst-fit",),
        holds=lambda r: r["compilers.mlp-worst-fit"].spread <= 0.25,
    ),
    Outcome(
        id="compilers.not-traffic",
        keys=("compilers.plain-share",),
        holds=lambda r: r["compilers.plain-share"].median < 0.75,
    ),
    Outcome(
        id="compilers.memory-kept",
        keys=("compilers.faults-eager", "compilers.faults-kept"),
        holds=lambda r: r["compilers.faults-kept"] < 0.01 * r["compilers.faults-eager"],
    ),
    Outcome(
        id="compilers.fused-pass",
        keys=("compilers.fused-passes",),
        holds=lambda r: 0.9 < r["compilers.fused-passes"].median < 1.1,
    ),
    Bound(
        id="compilers.at-most-k",
        keys=("compilers.kept-ours", "compilers.kept-torch"),
        holds=lambda r: all(r[f"compilers.kept-{way}"].median <= 8 for way in ("ours", "torch")),
    ),
    Outcome(
        id="compilers.perceptron-loses",
        keys=("compilers.perceptron-break-even",),
        holds=lambda r: r["compilers.perceptron-break-even"] == "∞",
    ),
    Outcome(
        id="compilers.strays",
        keys=("compilers.largest-difference", "compilers.largest-control"),
        holds=lambda r: r["compilers.largest-difference"] <= r["compilers.largest-control"],
    ),
    Outcome(
        id="compilers.pooling",
        keys=("compilers.step-gain", "compilers.mean-step-gain"),
        holds=lambda r: r["compilers.mean-step-gain"].quartiles[0] > r["compilers.step-gain"].quartiles[1],
    ),
)
