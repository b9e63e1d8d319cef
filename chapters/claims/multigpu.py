"""The claims of the chapter on several GPUs, from scratch, each with its rival, and what else its text follows."""

from __future__ import annotations

from booktools.claims.claims import Claim, Outcome, Records, Rival
from booktools.claims.predictions import Prediction, fit, pair
from dlperf.network import PAYLOAD

KS = (2, 4, 8)
BYTES = tuple(f"multigpu.sum-{way}-{k}-bytes-ratio" for way in ("first", "sharded", "ring") for k in KS)
RING = ("multigpu.sum-ring-2-ratio", "multigpu.sum-ring-8-ratio")
FAR = tuple(f"multigpu.far-{name}-ratio" for name in ("strong-2", "strong-4", "strong-8", "weak-8"))


def _is_near(value: float, off: float) -> bool:
    return 1 - off < value < 1 + off


def _sent_once(r: Records) -> dict[str, float]:
    apart, predicted, step = (r[f"multigpu.{key}"].median for key in ("apart-step", "first-predicted", "first-step"))
    return {"multigpu.first-ratio": (apart + (predicted - apart) / 2) / step}


def _added_up(r: Records) -> dict[str, float]:
    return {"multigpu.buckets-ratio": r["multigpu.buckets-predicted"].median / r["multigpu.ring-predicted"].median}


def _ring_falls(r: Records) -> bool:
    """Is the ring over eight hosts further behind its prediction than over two, as where they share cores?"""
    two, eight = (r[key] for key in RING)
    return eight.median < 0.95 and eight.quartiles[1] < two.quartiles[0]


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="multigpu.first",
        basis="prediction",
        keys=tuple(f"multigpu.{key}" for key in ("first-ratio", "first-predicted", "first-step", "apart-step")),
        holds=lambda r: _is_near(r["multigpu.first-ratio"].median, 0.1),
        needs=("cores>=2",),
        rival=Rival("what is sent back costs nothing: the link carries the gradients once", _sent_once),
    ),
    Claim(
        id="multigpu.gradient",
        basis="theory",
        keys=("multigpu.float64", "multigpu.float32", "multigpu.means-first"),
        holds=lambda r: r["multigpu.float64"] < 1e-12 and r["multigpu.float32"] < 1e-6,
        rival=Rival(
            "shares count alike, however many examples they have",
            lambda r: {"multigpu.float64": r["multigpu.means-first"], "multigpu.float32": r["multigpu.means-first"]},
        ),
    ),
    Claim(
        id="multigpu.bugs",
        basis="record",
        keys=("multigpu.copy-first", "multigpu.copy-other", "multigpu.scale-sgd", "multigpu.scale-adam"),
        holds=lambda r: (
            r["multigpu.copy-first"] < 1e-12
            and r["multigpu.copy-other"] > 0.1
            and r["multigpu.scale-adam"] < 0.01 * r["multigpu.scale-sgd"]
        ),
        rival=Rival(
            "Adam shows a wrong scale as SGD does",
            lambda r: {"multigpu.scale-adam": r["multigpu.scale-sgd"]},
        ),
    ),
    Claim(
        id="multigpu.bytes",
        basis="prediction",
        keys=BYTES,
        holds=lambda r: all(_is_near(r[key].median, 0.02) for key in BYTES),
        needs=("linux",),
        rival=Rival("headers cost nothing", lambda r: dict.fromkeys(BYTES, PAYLOAD)),
    ),
    Claim(
        id="multigpu.ring-wins",
        basis="prediction",
        keys=("multigpu.sum-first-8", "multigpu.sum-ring-8", "multigpu.sum-gain-predicted"),
        holds=lambda r: (
            r["multigpu.sum-first-8"].median / r["multigpu.sum-ring-8"].median
            > 2 / 3 * r["multigpu.sum-gain-predicted"]
        ),
        needs=("linux", "cores>=2"),
        rival=Rival(
            "the way does not matter: the same numbers are added up",
            lambda r: {"multigpu.sum-ring-8": r["multigpu.sum-first-8"].median},
        ),
    ),
    Claim(
        id="multigpu.early",
        basis="prediction",
        keys=("multigpu.buckets-ratio", "multigpu.buckets-predicted", "multigpu.ring-predicted"),
        holds=lambda r: all(_is_near(quartile, 0.1) for quartile in r["multigpu.buckets-ratio"].quartiles),
        needs=("cores>=2",),
        rival=Rival("sending and computing add up all the same", _added_up),
    ),
    Claim(
        id="multigpu.weak",
        basis="decision",
        keys=("multigpu.machine-weak",),
        holds=lambda r: r["multigpu.machine-weak"].median >= 0.9,
        needs=("cores>=2",),
        rival=Rival("the second device computes when the first has ended", lambda r: {"multigpu.machine-weak": 0.5}),
        fails_on=dict.fromkeys(("cpu-2-cores-zen4", "h100"), "multigpu-scaling"),
    ),
    Claim(
        id="multigpu.far",
        basis="prediction",
        keys=(*FAR, "multigpu.far-added"),
        holds=lambda r: all(_is_near(r[key].median, 0.1) for key in FAR),
        rival=Rival("sending and computing add up", lambda r: {FAR[0]: r["multigpu.far-added"]}),
    ),
    Claim(
        id="multigpu.batch-noise",
        basis="prediction",
        keys=("multigpu.batch-noise-ratio", "multigpu.batch-reached"),
        holds=lambda r: r["multigpu.batch-reached"] == 1 and 1 / 3 < r["multigpu.batch-noise-ratio"] < 3,
        rival=Rival("the noise of gradients says nothing about steps", lambda r: {"multigpu.batch-noise-ratio": 10}),
    ),
    Claim(
        id="multigpu.batch-saved",
        basis="midway",
        keys=("multigpu.batch-saved", "multigpu.batch-reached"),
        holds=lambda r: r["multigpu.batch-reached"] == 1 and r["multigpu.batch-saved"] < 32,
        rival=Rival("each example counts as before", lambda r: {"multigpu.batch-saved": 64}),
    ),
    Claim(
        id="multigpu.rate-scaled",
        basis="midway",
        keys=("multigpu.rate-scaled-lost-64", "multigpu.rate-kept-lost-64"),
        holds=lambda r: r["multigpu.rate-scaled-lost-64"] < r["multigpu.rate-kept-lost-64"] / 2,
        rival=Rival(
            "a larger batch needs no other rate",
            lambda r: {"multigpu.rate-scaled-lost-64": r["multigpu.rate-kept-lost-64"]},
        ),
    ),
    Claim(
        id="multigpu.rate-limit",
        basis="theory",
        keys=("multigpu.rate-scaled-lost-512", "multigpu.rate-kept-lost-512"),
        holds=lambda r: r["multigpu.rate-scaled-lost-512"] > r["multigpu.rate-kept-lost-512"],
        rival=Rival("the rule holds for any batch", lambda r: {"multigpu.rate-scaled-lost-512": 0}),
    ),
    Claim(
        id="multigpu.ways-bytes",
        basis="prediction",
        keys=("multigpu.data-bytes-ratio", "multigpu.layer-bytes-ratio", "multigpu.network-8-bytes-ratio"),
        holds=lambda r: all(
            abs(r[f"multigpu.{way}-bytes-ratio"].median - 1) < 0.03 for way in ("data", "layer", "network-8")
        ),
        needs=("linux",),
        rival=Rival(
            "by network, whole rows of d values cross the link", lambda r: {"multigpu.network-8-bytes-ratio": 8}
        ),
    ),
    Claim(
        id="multigpu.ways-memory",
        basis="prediction",
        keys=("multigpu.data-memory-ratio", "multigpu.layer-memory-ratio", "multigpu.network-8-memory-ratio"),
        holds=lambda r: all(
            abs(r[f"multigpu.{way}-memory-ratio"] - 1) < 0.05 for way in ("data", "layer", "network-8")
        ),
        needs=("cores>=2",),
        rival=Rival(
            "by layer, each device keeps all weights and their gradients",
            lambda r: {"multigpu.layer-memory-ratio": 1.33},
        ),
    ),
    Claim(
        id="multigpu.bubble",
        basis="prediction",
        keys=("multigpu.bubble-1", "multigpu.bubble-8"),
        holds=lambda r: r["multigpu.bubble-8"].median < 2 / 3 * r["multigpu.bubble-1"].median,
        needs=("cores>=2",),
        rival=Rival(
            "micro-batches are computed one after the other all the same",
            lambda r: {"multigpu.bubble-8": r["multigpu.bubble-1"].median},
        ),
    ),
)

OUTCOMES = (
    Outcome(
        id="multigpu.first-slower",
        keys=("multigpu.first-speedup",),
        holds=lambda r: r["multigpu.first-speedup"].median < 1,
    ),
    Outcome(
        id="multigpu.on-gpus",
        keys=("multigpu.gpus",),
        holds=lambda r: r["multigpu.gpus"] == 1,
    ),
    Outcome(
        id="multigpu.limited",
        keys=("multigpu.limited",),
        holds=lambda r: r["multigpu.limited"] == 1,
    ),
    Outcome(
        id="multigpu.crowded",
        keys=(*RING, "multigpu.sum-sharded-8-ratio", "multigpu.cores"),
        holds=lambda r: _ring_falls(r) and r["multigpu.sum-sharded-8-ratio"].median < 0.95 and r["multigpu.cores"] < 8,
    ),
    Outcome(
        id="multigpu.one-gpu",
        keys=("multigpu.gpus", "multigpu.one-step"),
        holds=lambda r: r["multigpu.gpus"] == 0 and bool((r["multigpu.one-step"].environment or {}).get("gpus")),
    ),
    Outcome(  # three rounds of four
        id="multigpu.stay-slower",
        keys=("multigpu.buckets-speedup",),
        holds=lambda r: r["multigpu.buckets-speedup"].quartiles[1] < 1,
    ),
    Outcome(
        id="multigpu.two-hide",
        keys=("multigpu.bend",),
        holds=lambda r: r["multigpu.bend"] >= 2,
    ),
    Outcome(
        id="multigpu.below-apart",
        keys=("multigpu.bend", "multigpu.buckets-step", "multigpu.apart-step"),
        holds=lambda r: r["multigpu.bend"] < 2 and r["multigpu.buckets-step"].median <= r["multigpu.apart-step"].median,
    ),
    Outcome(
        id="multigpu.sharded-late",
        keys=(*RING, "multigpu.sum-sharded-8-ratio"),
        holds=lambda r: (
            not _ring_falls(r)
            and r["multigpu.sum-sharded-8-ratio"].median < 0.95
            and r["multigpu.sum-sharded-8-ratio"].quartiles[1] < r["multigpu.sum-ring-8-ratio"].quartiles[0]
        ),
    ),
    Outcome(
        id="multigpu.ring-ahead",
        keys=("multigpu.limited", "multigpu.sum-ring-8", "multigpu.sum-sharded-8"),
        holds=lambda r: (
            r["multigpu.limited"] == 1
            and r["multigpu.sum-ring-8"].quartiles[1] < r["multigpu.sum-sharded-8"].quartiles[0]
        ),
    ),
    Outcome(
        id="multigpu.weak-exchange",
        keys=("multigpu.machine-apart", "multigpu.machine-weak"),
        holds=lambda r: (
            r["multigpu.machine-apart"].median >= 0.9
            and r["multigpu.machine-apart"].quartiles[0] > r["multigpu.machine-weak"].quartiles[1]
        ),
    ),
    Outcome(
        id="multigpu.gap-closed",
        keys=("multigpu.buckets-waiting", "multigpu.ring-waiting"),
        holds=lambda r: r["multigpu.buckets-waiting"].median < 0.5 * r["multigpu.ring-waiting"].median,
    ),
    Outcome(
        id="multigpu.weak-hidden",
        keys=("multigpu.far-backward", "multigpu.far-sending"),
        holds=lambda r: r["multigpu.far-backward"] > 0.5 * r["multigpu.far-sending"],
    ),
    Outcome(
        id="multigpu.buckets-win",
        keys=("multigpu.each-step", "multigpu.buckets-step"),
        holds=lambda r: r["multigpu.each-step"].quartiles[0] > r["multigpu.buckets-step"].quartiles[1],
    ),
    Outcome(
        id="multigpu.processor-sends",
        keys=(
            "multigpu.gpus",
            *(f"multigpu.buckets-{key}" for key in ("step", "predicted", "extra")),
        ),
        holds=lambda r: (
            r["multigpu.gpus"] == 0
            and r["multigpu.buckets-step"].median > 1.05 * r["multigpu.buckets-predicted"].median
            and r["multigpu.buckets-extra"].median
            > 0.5 * (r["multigpu.buckets-step"].median - r["multigpu.buckets-predicted"].median)
        ),
    ),
    Outcome(
        id="multigpu.threads-win",
        keys=("multigpu.machine-threads", "multigpu.machine-strong"),
        holds=lambda r: r["multigpu.machine-threads"].median > r["multigpu.machine-strong"].median,
    ),
    Outcome(
        id="multigpu.rate-kept",
        keys=("multigpu.rate-kept-breaks",),
        holds=lambda r: r["multigpu.rate-kept-breaks"] <= 512,
    ),
    Outcome(
        id="multigpu.rate-breaks",
        keys=("multigpu.rate-scaled-breaks",),
        holds=lambda r: r["multigpu.rate-scaled-breaks"] <= 512,
    ),
    Outcome(
        id="multigpu.rate-warm-up",
        keys=("multigpu.rate-scaled-breaks", "multigpu.rate-warmup-breaks"),
        holds=lambda r: r["multigpu.rate-warmup-breaks"] > r["multigpu.rate-scaled-breaks"],
    ),
    Outcome(
        id="multigpu.warm-up-place",
        keys=("multigpu.rate-scaled-lost-256", "multigpu.rate-warmup-lost-256"),
        holds=lambda r: r["multigpu.rate-warmup-lost-256"] < r["multigpu.rate-scaled-lost-256"],
    ),
    Outcome(  # who guesses among the 75 characters loses ln 75 = 4.3
        id="multigpu.some-fail",
        keys=("multigpu.rate-scaled-512", "multigpu.rate-warmup-512"),
        holds=lambda r: all(max(r[f"multigpu.rate-{rate}-512"].samples) > 4 for rate in ("scaled", "warmup")),
    ),
    Outcome(  # as good on one device, and on four beyond the limit of rate-scaled, which half of the rate keeps
        id="multigpu.rate-room",
        keys=tuple(
            f"multigpu.rate-{key}" for key in ("twice-lost-16", "twice-lost-64", "scaled-lost-64", "kept-lost-64")
        ),
        holds=lambda r: (
            max(abs(r["multigpu.rate-twice-lost-16"]), r["multigpu.rate-scaled-lost-64"])
            < r["multigpu.rate-kept-lost-64"] / 2
            < r["multigpu.rate-twice-lost-64"]
        ),
    ),
    Outcome(
        id="multigpu.four-best",
        keys=("multigpu.network-4-step", "multigpu.network-8-step"),
        holds=lambda r: r["multigpu.network-4-step"].quartiles[1] < r["multigpu.network-8-step"].quartiles[0],
    ),
    Outcome(
        id="multigpu.eight-helps",
        keys=("multigpu.network-1-step", "multigpu.network-8-step"),
        holds=lambda r: r["multigpu.network-8-step"].quartiles[1] < r["multigpu.network-1-step"].quartiles[0],
    ),
    Outcome(
        id="multigpu.pieces",
        keys=("multigpu.network-1-computing", "multigpu.network-8-computing"),
        holds=lambda r: r["multigpu.network-8-computing"].median > 1.05 * r["multigpu.network-1-computing"].median,
    ),
)

PROCESSOR = "a processor that computes and also adds, copies and sends, as we suspect"
LATENCY = "a smaller latency in the library's ring, as we suspect"
CROWD = "few cores that send for all hosts at once, as we suspect"
UNEQUAL = "messages that share a link unequally, as we suspect"
STAGES = "messages, and stages that are not equally fast, as we suspect"
PREDICTIONS = (
    fit("multigpu-split", "multigpu.first-ratio", PROCESSOR),
    fit("multigpu-reduce", "multigpu.library-ratio"),
    fit("multigpu-reduce", "multigpu.ring-ratio"),
    *(fit("multigpu-reduce", f"multigpu.sum-first-{k}-ratio") for k in KS),
    *(fit("multigpu-reduce", f"multigpu.sum-ring-{k}-ratio", CROWD if k == 8 else "") for k in KS),
    *(fit("multigpu-reduce", f"multigpu.sum-sharded-{k}-ratio", UNEQUAL) for k in KS),
    Prediction(
        "multigpu-reduce",
        ("multigpu.sum-gain-predicted", "multigpu.sum-first-8", "multigpu.sum-ring-8"),
        lambda r: r["multigpu.sum-gain-predicted"] * r["multigpu.sum-ring-8"].median / r["multigpu.sum-first-8"].median,
        CROWD,
    ),
    fit("multigpu-early", "multigpu.each-ratio", PROCESSOR),
    fit("multigpu-early", "multigpu.buckets-ratio", PROCESSOR),
    *(fit("multigpu-scaling", key, LATENCY) for key in FAR),
    fit("multigpu-batch", "multigpu.batch-noise-ratio", "all but the order of magnitude"),
    *(pair("multigpu-ways", f"multigpu.bubble-{m}-predicted", f"multigpu.bubble-{m}", STAGES) for m in (1, 4, 8)),
    Prediction(
        "multigpu-ways",
        ("multigpu.network-1-step", "multigpu.network-8-step"),
        lambda r: 9 / 16 * r["multigpu.network-1-step"].median / r["multigpu.network-8-step"].median,
        "slower products of few rows, and sums of gradients, as we suspect",
    ),
)
