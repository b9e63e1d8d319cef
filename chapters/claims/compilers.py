"""The claims of the chapter *Compilers and interpreters*, and what else its text follows."""

from __future__ import annotations

from booktools.claims.claims import Bound, Claim, Outcome, Rival
from booktools.claims.predictions import fit, pair, stated

FUSED = tuple(f"compilers.{memory}-{way}" for memory in ("new", "kept") for way in ("ours", "torch"))
BREAKS = {f"compilers.breaks-{name}": n for name, n in (("if", 1), ("backward", 1), ("where", 0), ("cond", 0))}


def _number(value: float | str) -> float:
    """Returns a difference of losses, which a page shows as ∞ where a loss has become infinite."""
    return float("inf") if value == "∞" else float(value)


CLAIMS = (
    Claim(
        id="compilers.freedom",
        basis="theory",
        keys=("compilers.kept-torch-compile", "compilers.kept-torch-jit-trace"),
        holds=lambda r: r["compilers.kept-torch-compile"] == 8,
        rival=Rival(
            "it takes for granted what a trace does",
            lambda r: {"compilers.kept-torch-compile": r["compilers.kept-torch-jit-trace"]},
        ),
    ),
    Claim(
        id="compilers.python",
        basis="record",
        keys=("compilers.python-factor",),
        holds=lambda r: r["compilers.python-factor"].median > 1.3,
        rival=Rival("asking costs what the library does", lambda r: {"compilers.python-factor": 1}),
    ),
    Claim(
        id="compilers.mlp-fit",
        basis="prediction",
        keys=("compilers.mlp-one-fit", "compilers.mlp-free-fit"),
        holds=lambda r: 0.85 < r["compilers.mlp-one-fit"].median < 1.15,
        rival=Rival(
            "what is saved is all: to enter and to run the generated program costs nothing",
            lambda r: {"compilers.mlp-one-fit": r["compilers.mlp-free-fit"].median},
        ),
        fails_on={"h100": "compilers-mlp"},
    ),
    Claim(
        id="compilers.fusion",
        basis="prediction",
        keys=FUSED,
        holds=lambda r: all(r[key].median >= 0.7 * 8 for key in FUSED),
        rival=Rival("two loops of four operations, not one of eight", lambda r: dict.fromkeys(FUSED, 4)),
    ),
    Claim(
        id="compilers.shapes",
        basis="theory",
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
        basis="theory",
        keys=tuple(BREAKS),
        holds=lambda r: all(r[key] == count for key, count in BREAKS.items()),
        rival=Rival("whoever asks for a value breaks the graph", lambda r: dict.fromkeys(BREAKS, 1)),
    ),
    Claim(
        id="compilers.graph",
        basis="record",
        keys=("compilers.graph-gain",),
        holds=lambda r: r["compilers.graph-gain"].median > 2,
        needs=("cuda",),
        rival=Rival("launches hide behind kernels", lambda r: {"compilers.graph-gain": 1}),
    ),
    Claim(
        id="compilers.mode-gain",
        basis="decision",
        keys=("compilers.mode-gain",),
        holds=lambda r: r["compilers.mode-gain"].median >= 1.1,
        needs=("cuda",),
        rival=Rival("launches hide behind what surrounds them", lambda r: {"compilers.mode-gain": 1}),
    ),
    Claim(
        id="compilers.cpp-faster",
        basis="decision",
        keys=("compilers.cpp-gain",),
        holds=lambda r: r["compilers.cpp-gain"].median >= 1.2,
        needs=("compiler",),
        rival=Rival("the call from Python costs nothing", lambda r: {"compilers.cpp-gain": 1}),
        fails_on={"h100": "compilers-deploy"},  # the package does not load there
    ),
    Claim(
        id="compilers.losses",
        basis="theory",
        keys=("compilers.difference", "compilers.control", "compilers.wrong"),
        holds=lambda r: (
            _number(r["compilers.difference"]) <= 10 * max(_number(r["compilers.control"]), 2**-23)  # float32 rounds
        ),
        rival=Rival(
            "compiled steps are off by a thousandth",
            lambda r: {"compilers.difference": r["compilers.wrong"]},
        ),
    ),
)

OUTCOMES = (
    Outcome(
        id="compilers.on-gpu",  # a switch: it asks where this edition was measured, and borrows nothing
        keys=("compilers.both-gain",),
        holds=lambda r: (r["compilers.both-gain"].environment or {}).get("accelerator") == "cuda",
    ),
    Outcome(
        id="compilers.loads",
        keys=("compilers.loads",),
        holds=lambda r: r["compilers.loads"] == 1,
        needs=("compiler",),
    ),
    Outcome(
        # whether the host's time, less what a profiler adds, is more than the count: their quartiles are apart
        id="compilers.asking-in-step",
        keys=("compilers.asked-alone", "compilers.asked-least"),
        holds=lambda r: r["compilers.asked-least"].quartiles[0] > r["compilers.asked-alone"].quartiles[1],
    ),
    Outcome(
        id="compilers.step-pages",  # less than one is rounded, and a share of it says nothing
        keys=("compilers.step-pages",),
        holds=lambda r: r["compilers.step-pages"] >= 1,
    ),
    Outcome(
        id="compilers.step-keeps",  # a twentieth of a step: less is lost in the spread, and decides nothing
        keys=("compilers.step-pages-share",),
        holds=lambda r: r["compilers.step-pages-share"].median >= 0.05,
    ),
    Outcome(
        # one run of each: a machine may be a tenth slower or faster in either, as far as a record's canary lets it
        id="compilers.by-block",
        keys=("compilers.cold-by-block", "compilers.cold-whole"),
        holds=lambda r: r["compilers.cold-by-block"] < 0.8 * r["compilers.cold-whole"],
    ),
    Outcome(
        id="compilers.tuned",
        keys=("compilers.tuned-written",),
        holds=lambda r: r["compilers.tuned-written"] > 0,
    ),
    Outcome(
        id="compilers.border",
        keys=("compilers.border-found",),
        holds=lambda r: r["compilers.border-found"] == 1,
    ),
    Outcome(
        id="compilers.mlp-little",
        keys=("compilers.mlp-best",),
        holds=lambda r: r["compilers.mlp-best"] < 1.2,
    ),
    Outcome(
        id="compilers.mlp-grows",  # by the model both are the same: their quartiles are apart
        keys=("compilers.mlp-cost-one", "compilers.mlp-cost-many"),
        holds=lambda r: r["compilers.mlp-cost-many"].quartiles[0] > r["compilers.mlp-cost-one"].quartiles[1],
    ),
    Outcome(
        id="compilers.mlp-steady",
        keys=("compilers.mlp-one-fit",),
        holds=lambda r: r["compilers.mlp-one-fit"].spread <= 0.25,
    ),
    Outcome(
        id="compilers.pages",
        keys=("compilers.new-fit",),
        holds=lambda r: r["compilers.new-fit"].median < 0.75,
    ),
    Outcome(
        id="compilers.loop",
        keys=("compilers.loop-growth",),
        holds=lambda r: r["compilers.loop-growth"].median <= 1.2,
    ),
    Outcome(
        id="compilers.compiler-wins",
        keys=("compilers.blocks-gain", "compilers.update-gain"),
        holds=lambda r: r["compilers.blocks-gain"].quartiles[0] > r["compilers.update-gain"].quartiles[1],
    ),
    Outcome(
        id="compilers.blocks-slower",
        keys=("compilers.blocks-gain",),
        holds=lambda r: r["compilers.blocks-gain"].quartiles[1] < 1,
    ),
    Bound(
        id="compilers.bound",
        keys=("compilers.reached",),
        holds=lambda r: r["compilers.reached"].quartiles[0] <= 1,
    ),
    Outcome(
        id="compilers.other-shrinks",
        keys=("compilers.other-ratio",),
        holds=lambda r: r["compilers.other-ratio"] < 0.6,
    ),
    Outcome(
        id="compilers.products-stay",
        keys=("compilers.products-ratio",),
        holds=lambda r: 0.85 < r["compilers.products-ratio"] < 1.15,
    ),
    Outcome(
        id="compilers.yardstick",
        keys=("compilers.control", "compilers.wrong"),
        holds=lambda r: _number(r["compilers.wrong"]) > 10 * _number(r["compilers.control"]),
    ),
)

PREDICTIONS = (
    fit("compilers-mlp", "compilers.mlp-one-fit", "a cost of entering that changes, as we suspect"),
    pair("compilers-mlp", "compilers.mlp-cost-one", "compilers.mlp-cost-many", "costs that grow with the batch"),
    fit("compilers-fusion", "compilers.kept-fit"),
    fit("compilers-fusion", "compilers.new-fit", "the pages of new memory"),
    *(stated("compilers-fusion", 8, key, "a loop that waits for something other than memory") for key in FUSED),
)
