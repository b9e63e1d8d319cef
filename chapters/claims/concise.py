"""The claims of the chapter on several GPUs, concisely, each with its rival, and what else its text follows."""

from __future__ import annotations

from booktools.claims.claims import Claim, Outcome, Records, Rival
from booktools.claims.predictions import fit, pair, stated


def _is_near(value: float, off: float) -> bool:
    return 1 - off < value < 1 + off


def _free_link(r: Records) -> dict[str, float]:
    return {"concise.hosts-ratio": r["concise.apart-step"].median / r["concise.hosts-step"].median}


def _nothing_sharded(r: Records) -> dict[str, float]:
    return {"concise.sharded-state-ratio": r["concise.sharded-state-ratio"] / r["concise.sharded-state"]}


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="concise.same",
        basis="record",
        keys=("concise.loss-off", "concise.loss-half"),
        holds=lambda r: r["concise.loss-off"] < 0.01,
        rival=Rival(
            "the network is trained on all examples, but in batches of half the size",
            lambda r: {"concise.loss-off": r["concise.loss-half"]},
        ),
    ),
    Claim(
        id="concise.messages",
        basis="theory",
        keys=("concise.pieces-messages", "concise.ddp-messages"),
        holds=lambda r: r["concise.pieces-messages"] == r["concise.ddp-messages"],
        rival=Rival("each piece is sent", lambda r: {"concise.pieces-messages": 4 * r["concise.ddp-messages"]}),
    ),
    Claim(
        id="concise.hosts",
        basis="prediction",
        keys=("concise.hosts-ratio", "concise.apart-step", "concise.hosts-step"),
        holds=lambda r: _is_near(r["concise.hosts-ratio"].median, 0.1),
        needs=("linux", "cores>=2"),
        fails_on={"h100": "concise-hosts"},
        rival=Rival("what is sent hides behind the backward pass", _free_link),
    ),
    Claim(
        id="concise.stale",
        basis="decision",
        keys=("concise.early-gap", "concise.late-gap"),
        holds=lambda r: r["concise.early-gap"] > 5 and abs(r["concise.late-gap"]) < 1,
        rival=Rival(
            "running statistics stay as far behind as they are after an epoch",
            lambda r: {"concise.late-gap": r["concise.early-gap"]},
        ),
    ),
    Claim(
        id="concise.equal",
        basis="decision",
        keys=("concise.right-spread",),
        holds=lambda r: r["concise.right-spread"] < 1,
        rival=Rival("two devices lose as much as in the textbook, 18 points", lambda r: {"concise.right-spread": 18}),
    ),
    Claim(
        id="concise.buckets",
        basis="prediction",
        keys=("concise.fit-least", "concise.fit-most", "concise.free-least", "concise.free-most"),
        holds=lambda r: all(_is_near(r[f"concise.fit-{end}"], 0.2) for end in ("least", "most")),
        needs=("linux", "cores>=2"),
        rival=Rival(
            "what is sent hides behind the backward pass",
            lambda r: {f"concise.fit-{end}": r[f"concise.free-{end}"] for end in ("least", "most")},
        ),
    ),
    Claim(
        id="concise.large",
        basis="decision",
        keys=("concise.large-bound", "concise.large-at-the-end"),
        holds=lambda r: r["concise.large-bound"].median <= 1.1,
        needs=("linux", "cores>=2"),
        rival=Rival(
            "what DDP sends follows the backward pass",
            lambda r: {"concise.large-bound": r["concise.large-at-the-end"].median},
        ),
    ),
    Claim(
        id="concise.bytes",
        basis="prediction",
        keys=("concise.ddp-bytes-ratio", "concise.sharded-bytes-ratio"),
        holds=lambda r: all(_is_near(r[f"concise.{way}-bytes-ratio"], 0.02) for way in ("ddp", "sharded")),
        needs=("linux",),
        rival=Rival("a reduce-scatter sends half of an all-reduce", lambda r: {"concise.sharded-bytes-ratio": 0.75}),
    ),
    Claim(
        id="concise.memory",
        basis="prediction",
        keys=("concise.ddp-state-ratio", "concise.sharded-state-ratio", "concise.sharded-state"),
        holds=lambda r: all(_is_near(r[f"concise.{way}-state-ratio"], 0.1) for way in ("ddp", "sharded")),
        rival=Rival("sharded, each device keeps as much as under DDP", _nothing_sharded),
    ),
    Claim(
        id="concise.named",
        basis="source",
        keys=("concise.named", "concise.named-plain"),
        holds=lambda r: r["concise.named"] == 3,
        rival=Rival("checks name no more ranks than none do", lambda r: {"concise.named": r["concise.named-plain"]}),
    ),
    Claim(
        id="concise.restarted",
        basis="theory",
        keys=("concise.killed-off", "concise.killed-right-off", "concise.killed-step"),
        holds=lambda r: (
            r["concise.killed-off"] == 0 and r["concise.killed-right-off"] == 0 and r["concise.killed-step"] >= 12
        ),
        rival=Rival("it begins anew, which ends with the same loss", lambda r: {"concise.killed-step": 0}),
    ),
    Claim(
        id="concise.scale",
        basis="prediction",
        keys=("concise.scale-least", "concise.scale-most", "concise.scale-free-least", "concise.scale-free-most"),
        holds=lambda r: all(_is_near(r[f"concise.scale-{end}"], 0.15) for end in ("least", "most")),
        fails_on=dict.fromkeys(("cpu-2-cores-zen4", "h100"), "concise-scale"),  # computed: on all
        rival=Rival(
            "nothing has to be sent, or all of it hides",
            lambda r: {f"concise.scale-{end}": r[f"concise.scale-free-{end}"] for end in ("least", "most")},
        ),
    ),
)

STEPS = ("concise.one-step", "concise.hosts-step")


def _speedups(r: Records) -> tuple[float, float]:
    """Returns the least and the largest speedup by two hosts that the quartiles of both steps allow."""
    (quick, slow), (least, most) = (r[key].quartiles for key in STEPS)
    return quick / most, slow / least


OUTCOMES: tuple[Outcome, ...] = (
    Outcome(  # chance alone would not turn the claim of the same number
        id="concise.equal-clear",
        keys=("concise.right-spread", "concise.right-error"),
        holds=lambda r: abs(r["concise.right-spread"] - 1) > 2 * r["concise.right-error"],
    ),
    Outcome("concise.limited", ("concise.limited",), lambda r: r["concise.limited"] == 1),
    Outcome(
        "concise.pieces-more",
        ("concise.pieces-gradients", "concise.ddp-gradients"),
        lambda r: r["concise.pieces-gradients"] > r["concise.ddp-gradients"],
    ),
    Outcome("concise.unsaid", ("concise.unsaid",), lambda r: r["concise.unsaid"] == 1),
    Outcome(
        "concise.as-good",
        ("concise.as-ours",),
        lambda r: (
            _is_near(r["concise.as-ours"].median, 0.05)
            or r["concise.as-ours"].quartiles[0] < 1 < r["concise.as-ours"].quartiles[1]
        ),
    ),
    Outcome(  # slower than DDP in buckets of 1 MiB, and than ours
        "concise.too-large",
        ("concise.as-it-comes", "concise.as-it-comes-ours"),
        lambda r: min(r[f"concise.as-it-comes{other}"].quartiles[0] for other in ("", "-ours")) > 1.02,
    ),
    Outcome("concise.latency-clear", ("concise.alpha-quick",), lambda r: r["concise.alpha-quick"].quartiles[0] > 0),
    Outcome("concise.narrow-wins", ("concise.narrow",), lambda r: r["concise.narrow"].quartiles[1] < 0.98),
    Outcome(  # what is 2 % longer in three turns of four is called longer, as in the other rows
        "concise.small-told", ("concise.smallest-missed",), lambda r: r["concise.smallest-missed"].quartiles[0] <= 1.02
    ),
    Outcome(
        "concise.passes-explain",
        ("concise.smallest-passes", "concise.smallest-left"),
        lambda r: r["concise.smallest-passes"].quartiles[0] > max(r["concise.smallest-left"].quartiles[1], 0),
    ),
    Outcome(
        "concise.rare-missed", ("concise.rare-ratio",), lambda r: not _is_near(r["concise.rare-ratio"].median, 0.1)
    ),
    Outcome("concise.stale-one", ("concise.early-gap-one",), lambda r: r["concise.early-gap-one"] > 5),
    Outcome(  # beyond a point, the limit of stale, and within it where the rate falls
        "concise.rate-closes",
        ("concise.late-gap", "concise.late-gap-constant"),
        lambda r: abs(r["concise.late-gap"]) < 1 < r["concise.late-gap-constant"],
    ),
    Outcome("concise.mild", ("concise.worst-cost",), lambda r: r["concise.worst-cost"] < 5),
    Outcome(  # the goal was set before the number was known
        "concise.here", ("concise.here-error",), lambda r: r["concise.here-error"] <= 0.1, needs=("linux", "cores>=2")
    ),
    Outcome(  # where sending decides little, no formula of it can be far off
        id="concise.here-tests",
        keys=("concise.here-error", "concise.here-free-error"),
        holds=lambda r: r["concise.here-free-error"] > 2 * r["concise.here-error"],
        needs=("linux", "cores>=2"),
    ),
    Outcome("concise.again-told", ("concise.again-fit",), lambda r: _is_near(r["concise.again-fit"], 0.1)),
    Outcome(  # by as much as hosts-faster asks of the measured steps
        "concise.told-faster",
        ("concise.hosts-told",),
        lambda r: r["concise.hosts-told"].median <= 1 / 1.05,
        needs=("linux", "cores>=2"),
    ),
    Outcome("concise.hosts-slower", STEPS, lambda r: _speedups(r)[1] < 1.05),  # of the medians until 2026-11-30
    Outcome("concise.hosts-faster", STEPS, lambda r: _speedups(r)[0] >= 1.05),
    Outcome("concise.hosts-untold", STEPS, lambda r: _speedups(r)[0] < 1.05 <= _speedups(r)[1]),
)

MESSAGES = "computing that is slower beside sending, or processor time for messages and for bfloat16"
BESIDE = "computing that is slower beside sending, as we suspect"
PREDICTIONS = (
    fit("concise-hosts", "concise.hosts-ratio", BESIDE),
    fit("concise-hosts", "concise.rare-ratio"),
    fit("concise-ours", "concise.fit-least", MESSAGES),
    fit("concise-ours", "concise.fit-most", MESSAGES),
    stated("concise-ours", 1, "concise.as-ours"),
    pair("concise-ours", "concise.smallest-told", "concise.smallest", BESIDE),
    fit("concise-scale", "concise.scale-least", "shares of a batch too small to compute fast, as we suspect"),
    fit("concise-scale", "concise.scale-most", "larger products that compute faster, as we suspect"),
    fit("concise-exercises", "concise.again-fit", "the wrapping itself, and a step beside its two passes"),
)
