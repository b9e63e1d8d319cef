"""The claims of the chapter *Training on multiple GPUs, from scratch*, each with its rival, and its outcomes."""

from __future__ import annotations

from booktools.claims import Claim, Outcome, Rival

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="multigpu.split-bytes",
        keys=("multigpu.sent-off",),
        holds=lambda r: r["multigpu.sent-off"] < 0.02,
        needs=("linux",),
        rival=Rival("by network, whole rows of d values cross the cut", lambda r: {"multigpu.sent-off": 15.0}),
    ),
    Claim(
        id="multigpu.split-crossover",
        keys=("multigpu.layer-gain-64", "multigpu.layer-gain-1024"),
        holds=lambda r: r["multigpu.layer-gain-64"].median > 1 > r["multigpu.layer-gain-1024"].median,
        needs=("linux",),
        rival=Rival(
            "what is sent does not depend on the batch, so one of the two always wins",
            lambda r: {"multigpu.layer-gain-1024": r["multigpu.layer-gain-64"].median},
        ),
    ),
    Claim(
        id="multigpu.split-time",
        keys=("multigpu.fit-data-1024", "multigpu.fit-layer-1024", "multigpu.sum-data"),
        holds=lambda r: all(0.8 < r[f"multigpu.fit-{way}-1024"].median < 1.25 for way in ("data", "layer")),
        needs=("linux", "cores>=2"),
        rival=Rival(
            "a step takes the longer of computing and sending, not their sum",
            lambda r: {"multigpu.fit-data-1024": r["multigpu.sum-data"].median},
        ),
    ),
    Claim(
        id="multigpu.bubble",
        keys=("multigpu.idle-1", "multigpu.idle-8"),
        holds=lambda r: r["multigpu.idle-8"].median < r["multigpu.idle-1"].median / 2,
        needs=("linux", "cores>=2"),
        rival=Rival(
            "micro-batches are computed one after the other all the same",
            lambda r: {"multigpu.idle-8": r["multigpu.idle-1"].median},
        ),
    ),
    Claim(
        id="multigpu.lenet-same",
        keys=("multigpu.lenet-off-double", "multigpu.lenet-ranks-off", "multigpu.lenet-off"),
        holds=lambda r: r["multigpu.lenet-off-double"] < 1e-6 and r["multigpu.lenet-ranks-off"] == 0,
        rival=Rival(
            "devices compute something else, so that float64 changes nothing",
            lambda r: {"multigpu.lenet-off-double": r["multigpu.lenet-off"]},
        ),
    ),
    Claim(
        id="multigpu.reduce-bytes",
        keys=("multigpu.reduce-bytes-off",),
        holds=lambda r: r["multigpu.reduce-bytes-off"] < 0.02,
        needs=("linux",),
        rival=Rival("each device of the ring sends 2S, whatever k is", lambda r: {"multigpu.reduce-bytes-off": 1.0}),
        fails_on={"cpu-2-cores-zen3": "multigpu-reduce"},
    ),
    Claim(
        id="multigpu.reduce-hub",
        keys=("multigpu.reduce-hub",),
        holds=lambda r: r["multigpu.reduce-hub"].median > 2,
        needs=("linux",),
        rival=Rival("only the bytes of all links together count: as many", lambda r: {"multigpu.reduce-hub": 1}),
    ),
    Claim(
        id="multigpu.gradient",
        keys=(
            "multigpu.gradient-float64",
            "multigpu.gradient-float32",
            "multigpu.gradient-alone",
            "multigpu.means-unequal",
        ),
        holds=lambda r: (
            r["multigpu.gradient-float64"] < 1e-12 and r["multigpu.gradient-float32"] < 2 * r["multigpu.gradient-alone"]
        ),
        rival=Rival(
            "parts of unequal size are weighted alike",
            lambda r: {"multigpu.gradient-float64": r["multigpu.means-unequal"]},
        ),
    ),
    Claim(
        id="multigpu.means",
        keys=("multigpu.means-equal", "multigpu.means-unequal"),
        holds=lambda r: r["multigpu.means-equal"] < 1e-12 and r["multigpu.means-unequal"] > 1e-3,
        rival=Rival("the mean of means is the mean", lambda r: {"multigpu.means-unequal": r["multigpu.means-equal"]}),
    ),
    Claim(
        id="multigpu.copy",
        keys=("multigpu.copy-caught", "multigpu.copy-false"),
        holds=lambda r: r["multigpu.copy-caught"] == 1 and r["multigpu.copy-false"] == 0,
        rival=Rival("what falls is trained alike everywhere", lambda r: {"multigpu.copy-caught": 0}),
    ),
    Claim(
        id="multigpu.bends",
        keys=("multigpu.link-resnet",),
        holds=lambda r: r["multigpu.link-resnet"] < 1,
        needs=("cores>=2",),
        rival=Rival("two devices are never slower than one", lambda r: {"multigpu.link-resnet": 1.2}),
    ),
    Claim(
        id="multigpu.model",
        keys=("multigpu.told-inside", "multigpu.told-divided"),
        holds=lambda r: r["multigpu.told-inside"] < min(0.2, r["multigpu.told-divided"]),
        needs=("cores>=2",),
        rival=Rival(
            "k devices are k times as fast, whatever they exchange",
            lambda r: {"multigpu.told-inside": r["multigpu.told-divided"]},
        ),
    ),
    Claim(
        id="multigpu.batch-noise",
        keys=("multigpu.batch-noise-ratio",),
        holds=lambda r: 1 / 3 < r["multigpu.batch-noise-ratio"] < 3,
        rival=Rival("the noise of gradients says nothing about steps", lambda r: {"multigpu.batch-noise-ratio": 10}),
    ),
    Claim(
        id="multigpu.batch-saved",
        keys=("multigpu.batch-saved",),
        holds=lambda r: r["multigpu.batch-saved"] < 64,
        rival=Rival("each example counts as before", lambda r: {"multigpu.batch-saved": 128}),
    ),
    Claim(
        id="multigpu.rate",
        keys=("multigpu.rate-near-lost", "multigpu.rate-far-lost"),
        holds=lambda r: abs(r["multigpu.rate-near-lost"]) < 2 and r["multigpu.rate-far-lost"] > 10,
        rival=Rival("the rule holds for any batch", lambda r: {"multigpu.rate-far-lost": 0}),
    ),
    Claim(
        id="multigpu.rate-stable",
        keys=("multigpu.rate-broken", "multigpu.rate-broken-half"),
        holds=lambda r: r["multigpu.rate-broken-half"] == 2 * r["multigpu.rate-broken"],
        rival=Rival(
            "it breaks at the critical batch size",
            lambda r: {"multigpu.rate-broken-half": r["multigpu.rate-broken"]},
        ),
    ),
    Claim(
        id="multigpu.norm-exact",
        keys=("multigpu.norm-error", "multigpu.norm-alone"),
        holds=lambda r: r["multigpu.norm-error"] < 1e-5,
        rival=Rival("each normalises by its own share", lambda r: {"multigpu.norm-error": r["multigpu.norm-alone"]}),
    ),
    Claim(
        id="multigpu.norm-small",
        keys=("multigpu.norm-2-lost",),
        holds=lambda r: r["multigpu.norm-2-lost"] > 3,
        rival=Rival("the noise of the statistics does no harm", lambda r: {"multigpu.norm-2-lost": 0}),
    ),
)

OUTCOMES: tuple[Outcome, ...] = (
    Outcome(
        id="multigpu.gpu-alike",
        keys=("multigpu.gpu-layer-over-data",),
        holds=lambda r: 0.8 < r["multigpu.gpu-layer-over-data"].median < 1.25,
        needs=("devices>=2",),
    ),
    Outcome(
        id="multigpu.pipeline-told",
        keys=("multigpu.pipeline-fit",),
        holds=lambda r: r["multigpu.pipeline-fit"].median > 0.9,
    ),
    Outcome(
        id="multigpu.lenet-amplified", keys=("multigpu.lenet-off",), holds=lambda r: r["multigpu.lenet-off"] > 1e-3
    ),
    Outcome(
        id="multigpu.reduce-library",
        keys=("multigpu.reduce-library",),
        holds=lambda r: r["multigpu.reduce-library"].median < 1.05,
    ),
    Outcome(
        id="multigpu.rounds-less",
        keys=("multigpu.gradient-float32", "multigpu.gradient-alone"),
        holds=lambda r: r["multigpu.gradient-float32"] < r["multigpu.gradient-alone"],
    ),
    Outcome(
        id="multigpu.open-smaller",
        keys=("multigpu.open-gpt-gain", "multigpu.open-resnet-gain"),
        holds=lambda r: r["multigpu.open-gpt-gain"].median > 1.05 * r["multigpu.open-resnet-gain"].median,
    ),
    Outcome(
        id="multigpu.workers-win",
        keys=("multigpu.threads-resnet", "multigpu.threads-gpt", "multigpu.threads-lenet"),
        holds=lambda r: min(r[f"multigpu.threads-{key}"].median for key in ("resnet", "gpt", "lenet")) > 1,
    ),
    Outcome(
        id="multigpu.link-told",
        keys=("multigpu.told-link",),
        holds=lambda r: r["multigpu.told-link"] < 0.2,
        needs=("linux",),
    ),
    Outcome(id="multigpu.inside-told", keys=("multigpu.told-inside",), holds=lambda r: r["multigpu.told-inside"] < 0.2),
    Outcome(
        id="multigpu.weak",
        keys=("multigpu.weak-resnet", "multigpu.strong-resnet"),
        holds=lambda r: r["multigpu.weak-resnet"].median > r["multigpu.strong-resnet"].median + 0.02,
    ),
    Outcome(
        id="multigpu.rate-breaks",
        keys=("multigpu.rate-broken",),
        holds=lambda r: r["multigpu.rate-broken"] <= 512,
    ),
    Outcome(
        id="multigpu.rate-warm-up",
        keys=("multigpu.rate-warm-up",),
        holds=lambda r: r["multigpu.rate-warm-up"] > 5,
    ),
    Outcome(
        id="multigpu.norm-enough",
        keys=("multigpu.norm-16-lost",),
        holds=lambda r: r["multigpu.norm-16-lost"] < 1,
    ),
)
