"""The claims of the chapter *Parameter servers*, each with its rival, and its outcomes."""

from __future__ import annotations

from math import sqrt

from booktools.claims.claims import Claim, Outcome, Rival
from booktools.claims.predictions import Prediction, fit, stated

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="servers.same",
        basis="theory",
        keys=("servers.apart",),
        holds=lambda r: r["servers.apart"] < 1e-5,
        rival=Rival("some gradients count in the round after their own", lambda r: {"servers.apart": 0.1}),
    ),
    Claim(
        id="servers.shapes",
        basis="prediction",
        keys=("servers.shape-off",),
        holds=lambda r: r["servers.shape-off"] < 0.25,
        needs=("linux",),
        rival=Rival(
            "it is the bytes of all links together that count: twelve gradients cross them sharded, as on one device",
            lambda r: {"servers.shape-off": 3.0},
        ),
    ),
    Claim(
        id="servers.ring-library",
        basis="decision",
        keys=("servers.ring-library",),
        holds=lambda r: r["servers.ring-library"].median <= 1.2,
        needs=("linux",),
        rival=Rival(
            "the library adds up while it sends, and Python does one after the other",
            lambda r: {"servers.ring-library": 1.5},
        ),
    ),
    Claim(
        id="servers.levels",
        basis="decision",
        keys=("servers.levels",),
        holds=lambda r: r["servers.levels"].median > 1.1,
        needs=("linux", "cores>=2"),
        rival=Rival("every rank sends as much as before, so it takes as long", lambda r: {"servers.levels": 1}),
    ),
    Claim(
        id="servers.links",
        basis="prediction",
        keys=("servers.links-off",),
        holds=lambda r: r["servers.links-off"] < 0.05,
        needs=("linux",),
        rival=Rival("a worker sends its gradient to the second copy, too", lambda r: {"servers.links-off": 1.0}),
    ),
    Claim(
        id="servers.goodput",
        basis="decision",
        keys=("servers.goodput-one", "servers.goodput-two"),
        holds=lambda r: min(r["servers.goodput-one"].median, r["servers.goodput-two"].median) >= 0.85,
        needs=("linux", "cores>=2"),
        rival=Rival(
            "pushes and pulls share one direction of a link",
            lambda r: {"servers.goodput-one": r["servers.goodput-one"].median / 2},
        ),
    ),
    Claim(
        id="servers.lock",
        basis="prediction",
        keys=("servers.lock-whole-fit", "servers.lock-update-fit"),
        holds=lambda r: all(0.8 < r[f"servers.lock-{held}-fit"].median < 1.2 for held in ("whole", "update")),
        rival=Rival(
            "trainers take turns for the update only, whatever they do meanwhile",
            lambda r: {"servers.lock-whole-fit": 4 * r["servers.lock-update-fit"].median},
        ),
    ),
    Claim(
        id="servers.copies",
        basis="prediction",
        keys=("servers.copies-ratio",),
        holds=lambda r: 1.2 < r["servers.copies-ratio"] < 1.8,
        needs=("linux", "cores>=2"),
        rival=Rival("pushes and pulls are both done twice", lambda r: {"servers.copies-ratio": 2.0}),
    ),
    Claim(
        id="servers.waiting",
        basis="record",
        keys=("servers.step-bsp", "servers.step-asp", "servers.behind-over"),
        holds=lambda r: (
            r["servers.step-bsp"].median > 4 * r["servers.step-asp"].median and r["servers.behind-over"] <= 0
        ),
        rival=Rival(
            "a server answers each worker at its own pace, whatever it promises",
            lambda r: {"servers.step-bsp": r["servers.step-asp"].median, "servers.behind-over": 1},
        ),
    ),
    Claim(
        id="servers.stragglers",
        basis="prediction",
        keys=("servers.straggler-off",),
        holds=lambda r: r["servers.straggler-off"] < 0.2,
        rival=Rival("who waits for nobody takes turns with the others", lambda r: {"servers.straggler-off": 1.0}),
    ),
    Claim(
        id="servers.dense-loses",
        basis="record",
        keys=("servers.dense-bsp", "servers.dense-asp"),
        holds=lambda r: r["servers.dense-asp"] > 2 * r["servers.dense-bsp"],
        rival=Rival(
            "three other workers are too few to make a gradient stale",
            lambda r: {"servers.dense-asp": r["servers.dense-bsp"]},
        ),
    ),
    Claim(
        id="servers.nothing-lost",
        basis="theory",
        keys=("servers.live-lost", "servers.live-objections", "servers.live-acknowledged"),
        holds=lambda r: r["servers.live-lost"] == r["servers.live-objections"] == 0 < r["servers.live-acknowledged"],
        rival=Rival(
            "a push whose answer was lost with its server counts again", lambda r: {"servers.live-objections": 1}
        ),
    ),
    Claim(
        id="servers.outages",
        basis="prediction",
        keys=("servers.live-astray",),
        holds=lambda r: r["servers.live-astray"] < 0.2,
        rival=Rival("it takes as long whatever the time-out is", lambda r: {"servers.live-astray": 1.5}),
    ),
    Claim(
        id="servers.simulated",
        basis="prediction",
        keys=("servers.simulated-error",),
        holds=lambda r: r["servers.simulated-error"] <= 0.15,
        needs=("linux",),
        rival=Rival(
            "what servers and ranks compute takes as long as their links",
            lambda r: {"servers.simulated-error": 0.5},
        ),
    ),
    Claim(
        id="servers.rows",
        basis="prediction",
        keys=("servers.rows-fit", "servers.table-fit"),
        holds=lambda r: all(0.75 < r[f"servers.{way}-fit"].median < 1.25 for way in ("rows", "table")),
        needs=("linux",),
        rival=Rival("by rows, too, it is bytes alone that take time", lambda r: {"servers.rows-fit": 0.1}),
    ),
)

OUTCOMES: tuple[Outcome, ...] = (
    Outcome(  # the limit of dense-loses
        id="servers.ssp-harms",
        keys=("servers.dense-ssp", "servers.dense-bsp"),
        holds=lambda r: r["servers.dense-ssp"] > 2 * r["servers.dense-bsp"],
    ),
    Outcome(
        id="servers.bound-loose",
        keys=("servers.dense-stale-ssp", "servers.dense-stale-asp"),
        holds=lambda r: r["servers.dense-stale-ssp"] > 0.8 * r["servers.dense-stale-asp"],
    ),
    Outcome(
        id="servers.long-harms",
        keys=("servers.dense-long-asp", "servers.dense-long-bsp"),
        holds=lambda r: r["servers.dense-long-asp"] > 2 * r["servers.dense-long-bsp"],
    ),
    Outcome(
        id="servers.all-reached",
        keys=("servers.unreached",),
        holds=lambda r: r["servers.unreached"] == 0,
    ),
    Outcome(
        id="servers.pays-at-once",
        keys=("servers.gain-1", "servers.reached-1"),
        holds=lambda r: r["servers.reached-1"] == 1 and r["servers.gain-1"] > 1.1,
    ),
    Outcome(
        id="servers.reached-at-once",
        keys=("servers.reached-1",),
        holds=lambda r: r["servers.reached-1"] == 1,
    ),
    Outcome(
        id="servers.crosses",
        keys=("servers.crossover", "servers.crossed-last", "servers.crossed-next"),
        holds=lambda r: r["servers.crossed-last"] <= r["servers.crossover"] <= r["servers.crossed-next"],
        needs=("linux",),
    ),
    Outcome(
        id="servers.cipher-explains",
        keys=("servers.cipher", "servers.cipher-round", "servers.ring-whole"),
        holds=lambda r: (
            2 * r["servers.cipher"].quartiles[0] > r["servers.cipher-round"].median - r["servers.ring-whole"].median > 0
        ),
        needs=("linux",),
    ),
    Outcome(
        id="servers.slower",
        keys=("servers.open-ratio",),
        holds=lambda r: r["servers.open-ratio"].quartiles[0] > 1,
    ),
    Outcome(
        id="servers.tree-wins-small",
        keys=("servers.tree-small",),
        holds=lambda r: r["servers.tree-small"].quartiles[1] < 0.95,
        needs=("linux",),
    ),
    Outcome(
        id="servers.levels-small",
        keys=("servers.levels-small",),
        holds=lambda r: r["servers.levels-small"].quartiles[0] > 1,
        needs=("linux", "cores>=2"),
    ),
    Outcome(
        id="servers.levels-middle-slower",
        keys=("servers.levels-middle",),
        holds=lambda r: r["servers.levels-middle"].quartiles[1] < 1,
        needs=("linux", "cores>=2"),
    ),
    Outcome(
        id="servers.halving-loses",
        keys=("servers.halving-worst",),
        holds=lambda r: r["servers.halving-worst"].quartiles[0] > 1,
        needs=("linux",),
    ),
    Outcome(
        id="servers.messages-help",
        keys=("servers.simulated-error", "servers.simulated-per-byte"),
        holds=lambda r: r["servers.simulated-error"] < 0.8 * r["servers.simulated-per-byte"],
        needs=("linux",),
    ),
    Outcome(
        id="servers.full-wins",
        keys=("servers.full-gain", "servers.goal-gain"),
        holds=lambda r: r["servers.full-gain"] > r["servers.goal-gain"] / 2,
    ),
    Outcome(
        id="servers.slow-dense",
        keys=("servers.dense-slow-asp", "servers.dense-slow-bsp"),
        holds=lambda r: r["servers.dense-slow-asp"] < r["servers.dense-slow-bsp"],
    ),
    Outcome(
        id="servers.parts-lose",
        keys=("servers.parts-ring",),
        holds=lambda r: r["servers.parts-ring"].quartiles[1] >= 1,
        needs=("linux",),
    ),
    Outcome(
        id="servers.parts-slower",
        keys=("servers.parts-ring",),
        holds=lambda r: r["servers.parts-ring"].quartiles[0] > 1,
        needs=("linux",),
    ),
    Outcome(
        id="servers.parts-later",
        keys=("servers.parts-late", "servers.ring-late"),
        holds=lambda r: r["servers.parts-late"] > 1.1 * r["servers.ring-late"],
        needs=("linux",),
    ),
    Outcome(
        id="servers.goodput-falls",
        keys=("servers.goodput-two", "servers.goodput-four"),
        holds=lambda r: r["servers.goodput-four"].median < r["servers.goodput-two"].median - 0.03,
        needs=("linux",),
    ),
    Outcome(
        id="servers.cores",
        keys=("servers.cores-over-links",),
        holds=lambda r: r["servers.cores-over-links"] > 1,
        needs=("linux",),
    ),
    Outcome(
        id="servers.fenced",
        keys=("servers.live-fenced",),
        holds=lambda r: r["servers.live-fenced"] == 1,
    ),
    Outcome(
        id="servers.slack-once",
        keys=("servers.steps-ahead",),
        holds=lambda r: r["servers.steps-ahead"] == 4,
    ),
    Outcome(
        id="servers.sparse-wins",
        keys=("servers.goal-gain",),
        holds=lambda r: r["servers.goal-gain"] > 2,
    ),
)

CALLS = "calls between processes, as we suspect"
LAYOUTS = ("one", "two", "four", "workers", "copies", "dead")
PREDICTIONS = (
    Prediction(  # five measurements, of which the ends are recorded
        "servers-ring",
        ("servers.ring-small-least", "servers.ring-small-most"),
        lambda r: sqrt(r["servers.ring-small-least"] * r["servers.ring-small-most"]),
        "a latency that is known no better",
    ),
    stated("servers-levels", 1.5, "servers.levels", "copies inside a host, as we suspect"),
    *(fit("servers-store", f"servers.goodput-{layout}", "processors that encrypt, copy and add") for layout in LAYOUTS),
    stated("servers-copies", 1.5, "servers.copies-ratio"),
    fit("servers-today", "servers.rows-fit"),
    fit("servers-today", "servers.table-fit"),
    fit("servers-exercises", "servers.lock-update-fit", CALLS),
    fit("servers-exercises", "servers.lock-whole-fit", CALLS),
    stated("servers-exercises", 1, "servers.parts-late", "links that pause while a round ends, as we suspect"),
    stated("servers-exercises", 1, "servers.ring-late"),
)
