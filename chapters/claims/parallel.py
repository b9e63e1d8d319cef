"""The claims of the chapter *Automatic parallelism*, each with its rival, and what else its text follows."""

from __future__ import annotations

from booktools.claims import Bound, Claim, Outcome, Records, Rival


def _is_near(value: float, low: float, high: float) -> bool:
    return low < value < high


def _copies_beside_products(r: Records) -> dict[str, float]:
    return {"parallel.bound-one-queue": r["parallel.bound-copies-kept"].median / 2}


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="parallel.one-by-one",
        keys=("parallel.two-sorts",),
        holds=lambda r: r["parallel.two-sorts"].median > 1.6,
        rival=Rival("both sorts run at once", lambda r: {"parallel.two-sorts": 1}),
    ),
    Claim(
        id="parallel.two-devices",
        keys=("parallel.at-once",),
        holds=lambda r: r["parallel.at-once"].median > 0.5,
        needs=("cores>=2",),
        rival=Rival("one device works after the other", lambda r: {"parallel.at-once": 0}),
    ),
    Claim(
        id="parallel.same-values",
        keys=("parallel.difference",),
        holds=lambda r: r["parallel.difference"] < 1e-5,
        rival=Rival("the inputs are rounded to half precision", lambda r: {"parallel.difference": 2**-11}),
    ),
    Claim(
        id="parallel.small-products",
        keys=("parallel.gain-small",),
        holds=lambda r: r["parallel.gain-small"].median > 1.1,
        needs=("linux", "cores>=2"),
        rival=Rival("it does not matter who divides the work", lambda r: {"parallel.gain-small": 1}),
    ),
    Claim(
        id="parallel.random",
        keys=tuple(f"parallel.random-{rule}-{p}" for rule in ("engine", "longest") for p in (2, 8)),
        holds=lambda r: (
            r["parallel.random-engine-2"] < r["parallel.random-longest-2"] / 0.98
            and r["parallel.random-engine-8"] > r["parallel.random-longest-8"] / 0.9
        ),
        rival=Rival(
            "the order does not matter with eight workers either",
            lambda r: {"parallel.random-engine-8": r["parallel.random-longest-8"]},
        ),
    ),
    Claim(
        id="parallel.bound-broken",
        keys=("parallel.bound-broken", "parallel.bound-products", "parallel.bound-copies-new"),
        holds=lambda r: r["parallel.bound-broken"].median < 1,
        needs=("linux",),
        rival=Rival(
            "the destination makes no difference",
            lambda r: {
                "parallel.bound-broken": 1
                + min(r["parallel.bound-products"].median, r["parallel.bound-copies-new"].median)
                / max(r["parallel.bound-products"].median, r["parallel.bound-copies-new"].median)
            },
        ),
    ),
    Claim(
        id="parallel.bound-one-queue",
        keys=("parallel.bound-one-queue", "parallel.bound-copies-kept"),
        holds=lambda r: r["parallel.bound-one-queue"] == 0,
        rival=Rival("half of the copying runs beside products", _copies_beside_products),
    ),
    Claim(
        id="parallel.bound-two-queues",
        keys=("parallel.bound-hidden-first", "parallel.bound-hidden-turn"),
        holds=lambda r: all(r[f"parallel.bound-hidden-{order}"].median > 0.5 for order in ("first", "turn")),
        needs=("cores>=2",),
        rival=Rival(
            "what is enqueued first runs first: copies wait for all products",
            lambda r: {"parallel.bound-hidden-first": 0},
        ),
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
        rival=Rival("a second stream hides nothing", lambda r: {"parallel.bound-gpu-two": 0}),
    ),
    Claim(
        id="parallel.pipeline",
        keys=("parallel.pipeline-bound",),
        holds=lambda r: r["parallel.pipeline-bound"].median < 1.2,
        needs=("cores>=2",),
        rival=Rival("half of the shorter side stays visible", lambda r: {"parallel.pipeline-bound": 1.5}),
    ),
    Claim(
        id="parallel.chunks",
        keys=("parallel.four-fit",),
        holds=lambda r: _is_near(r["parallel.four-fit"].median, 0.9, 1.1),
        needs=("cores>=2",),
        rival=Rival(
            "whatever overlaps takes the longer of the two, however few the chunks",
            lambda r: {"parallel.four-fit": 1.25},
        ),
    ),
    Claim(
        id="parallel.as-ready",
        keys=("parallel.as-ready-gain",),
        holds=lambda r: r["parallel.as-ready-gain"].median > 1.15,
        needs=("cores>=2",),
        rival=Rival("the link hides nothing", lambda r: {"parallel.as-ready-gain": 1}),
    ),
    Claim(
        id="parallel.same-gradient",
        keys=("parallel.gradient-error",),
        holds=lambda r: r["parallel.gradient-error"] < 1e-5,
        rival=Rival("each host keeps the gradient of its own examples", lambda r: {"parallel.gradient-error": 0.1}),
    ),
    Claim(
        id="parallel.hidden",
        keys=("parallel.step-as-ready-hidden",),
        holds=lambda r: r["parallel.step-as-ready-hidden"].median > 0.5,
        needs=("cores>=2",),
        rival=Rival("nothing is sent before the backward pass is over", lambda r: {"parallel.step-as-ready-hidden": 0}),
    ),
    Claim(
        id="parallel.today-eager",
        keys=("parallel.today-eager-share",),
        holds=lambda r: r["parallel.today-eager-share"] == 0,
        rival=Rival("independent lines run at once", lambda r: {"parallel.today-eager-share": 0.5}),
    ),
    Claim(
        id="parallel.today-engine",
        keys=("parallel.today-engine-share",),
        holds=lambda r: r["parallel.today-engine-share"] > 0.5,
        needs=("cores>=2",),
        rival=Rival("one branch runs after the other", lambda r: {"parallel.today-engine-share": 0}),
    ),
    Claim(
        id="parallel.today-xla",
        keys=("parallel.today-xla-8-share", "parallel.today-xla-32-share"),
        holds=lambda r: r["parallel.today-xla-8-share"] < 0.1 and r["parallel.today-xla-32-share"] > 0.5,
        needs=("cores>=2",),
        rival=Rival(
            "any branches that are ready run at once",
            lambda r: {"parallel.today-xla-8-share": r["parallel.today-xla-32-share"]},
        ),
    ),
    Claim(
        id="parallel.today-same",
        keys=("parallel.today-wrong", "parallel.today-branches"),
        holds=lambda r: r["parallel.today-wrong"] == 0 < r["parallel.today-branches"],
        rival=Rival("one of them computes something else", lambda r: {"parallel.today-wrong": 1}),
    ),
    Claim(
        id="parallel.rule",
        keys=("parallel.nine-3", "parallel.nine-4"),
        holds=lambda r: (
            _is_near(r["parallel.nine-3"].median / 0.12, 0.9, 1.1)
            and _is_near(r["parallel.nine-4"].median / 0.15, 0.9, 1.1)
        ),
        rival=Rival(
            "a fourth worker shortens the run: neither takes more than work and critical path demand",
            lambda r: {"parallel.nine-3": 0.12, "parallel.nine-4": 0.12},
        ),
    ),
)

OUTCOMES = (
    Outcome(
        id="parallel.large-products",
        keys=("parallel.gain-large",),
        holds=lambda r: r["parallel.gain-large"].median < 1.1,
    ),
    Outcome(
        id="parallel.card",
        keys=("parallel.card-gain", "parallel.no-card-slower"),
        holds=lambda r: min(r["parallel.card-gain"].median, r["parallel.no-card-slower"].median) > 1.02,
    ),
    Outcome(
        id="parallel.cost",
        keys=("parallel.cost-64", "parallel.split"),
        holds=lambda r: r["parallel.cost-64"].median > 1.3 * r["parallel.split"].median,
        needs=("linux", "cores>=2"),
    ),
    Outcome(
        id="parallel.shares-little",
        keys=("parallel.together", "parallel.ideal"),
        holds=lambda r: r["parallel.together"].median < 1.05 * r["parallel.ideal"].median,
    ),
    Bound(
        id="parallel.best",
        keys=("parallel.together", "parallel.ideal"),
        holds=lambda r: r["parallel.together"].quartiles[1] >= r["parallel.ideal"].median,
    ),
    Outcome(
        id="parallel.crossover",
        keys=("parallel.crossover", "parallel.crossover-predicted"),
        holds=lambda r: _is_near(r["parallel.crossover-predicted"] / r["parallel.crossover"], 0.5, 2),
    ),
    Outcome(
        id="parallel.bound-shared",
        keys=(
            "parallel.bound-two-low",
            "parallel.bound-two-told",
            "parallel.bound-product-longer",
            "parallel.bound-copy-longer",
        ),
        holds=lambda r: (
            r["parallel.bound-two-low"].median > 1.03 * r["parallel.bound-two-told"]
            and max(r["parallel.bound-product-longer"].median, r["parallel.bound-copy-longer"].median) > 1.02
        ),
    ),
    Bound(
        id="parallel.bound-upper",
        keys=("parallel.bound-two-high",),
        holds=lambda r: r["parallel.bound-two-high"].median <= 1,
    ),
    Outcome(
        id="parallel.buffered",
        keys=("parallel.waited", "parallel.pipeline", "parallel.in-turn"),
        holds=lambda r: 2 * r["parallel.waited"].median < r["parallel.pipeline"].median + r["parallel.in-turn"].median,
    ),
    Bound(
        id="parallel.pipeline-within",
        keys=("parallel.least-bound",),
        holds=lambda r: r["parallel.least-bound"].median >= 1,
    ),
    Outcome(
        id="parallel.step-longer",
        keys=("parallel.step-stretch",),
        holds=lambda r: r["parallel.step-stretch"].median >= 1,
    ),
    Bound(
        id="parallel.step-within",
        keys=("parallel.step-two", "parallel.step-lower", "parallel.step-upper"),
        holds=lambda r: r["parallel.step-lower"] <= r["parallel.step-two"].median <= r["parallel.step-upper"],
    ),
    Outcome(
        id="parallel.backward-short",
        keys=("parallel.step-as-ready-fit", "parallel.step-as-ready-stretch"),
        holds=lambda r: (
            r["parallel.step-as-ready-fit"].median < 0.97 and r["parallel.step-as-ready-stretch"].median > 1.02
        ),
    ),
    Outcome(
        id="parallel.knee",
        keys=("parallel.step-most",),
        holds=lambda r: r["parallel.step-most"] > 8,
    ),
    Outcome(
        id="parallel.tiny-pool",
        keys=("parallel.tiny-two",),
        holds=lambda r: r["parallel.tiny-two"].median > 0.9,
    ),
    Outcome(
        id="parallel.relay",
        keys=("parallel.relay-fit",),
        holds=lambda r: r["parallel.relay-fit"].median > 0.9,
    ),
    Outcome(
        id="parallel.small-buckets",
        keys=("parallel.small-buckets",),
        holds=lambda r: r["parallel.small-buckets"].median > 1,
    ),
)
