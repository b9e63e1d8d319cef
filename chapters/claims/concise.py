"""The claims of the chapter on several GPUs, concisely, each with its rival, and what else its text follows."""

from __future__ import annotations

from booktools.claims import Claim, Outcome, Records, Rival


def _is_near(value: float, off: float) -> bool:
    return 1 - off < value < 1 + off


def _free_link(r: Records) -> dict[str, float]:
    return {"concise.hosts-ratio": r["concise.apart-step"].median / r["concise.hosts-step"].median}


CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="concise.same",
        keys=("concise.loss-off", "concise.loss-half"),
        holds=lambda r: r["concise.loss-off"] < 0.01,
        rival=Rival(
            "the network is trained on all examples, but in batches of half the size",
            lambda r: {"concise.loss-off": r["concise.loss-half"]},
        ),
    ),
    Claim(
        id="concise.messages",
        keys=("concise.pieces-messages", "concise.ddp-messages"),
        holds=lambda r: r["concise.pieces-messages"] == r["concise.ddp-messages"],
        rival=Rival("each piece is sent", lambda r: {"concise.pieces-messages": 4 * r["concise.ddp-messages"]}),
    ),
    Claim(
        id="concise.hosts",
        keys=("concise.hosts-ratio", "concise.apart-step", "concise.hosts-step"),
        holds=lambda r: _is_near(r["concise.hosts-ratio"].median, 0.1),
        needs=("linux", "cores>=2"),
        rival=Rival("what is sent hides behind the backward pass", _free_link),
    ),
    Claim(
        id="concise.bytes",
        keys=("concise.ddp-bytes-ratio", "concise.sharded-bytes-ratio"),
        holds=lambda r: all(_is_near(r[f"concise.{way}-bytes-ratio"], 0.02) for way in ("ddp", "sharded")),
        needs=("linux",),
        rival=Rival("a reduce-scatter sends half of an all-reduce", lambda r: {"concise.sharded-bytes-ratio": 0.75}),
    ),
    Claim(
        id="concise.memory",
        keys=("concise.ddp-state-ratio", "concise.sharded-state-ratio"),
        holds=lambda r: all(_is_near(r[f"concise.{way}-state-ratio"], 0.1) for way in ("ddp", "sharded")),
        rival=Rival("gradients lie in buckets and beside the weights", lambda r: {"concise.ddp-state-ratio": 1.25}),
    ),
    Claim(
        id="concise.restarted",
        keys=("concise.killed-off", "concise.killed-right-off", "concise.killed-step"),
        holds=lambda r: (
            r["concise.killed-off"] == 0 and r["concise.killed-right-off"] == 0 and r["concise.killed-step"] >= 12
        ),
        rival=Rival("it begins anew, which ends with the same loss", lambda r: {"concise.killed-step": 0}),
    ),
)

OUTCOMES: tuple[Outcome, ...] = (
    Outcome("concise.limited", ("concise.limited",), lambda r: r["concise.limited"] == 1),
    Outcome(
        "concise.pieces-more",
        ("concise.pieces-gradients", "concise.ddp-gradients"),
        lambda r: r["concise.pieces-gradients"] > r["concise.ddp-gradients"],
    ),
    Outcome("concise.hosts-slower", ("concise.hosts-speedup",), lambda r: r["concise.hosts-speedup"] < 1),
)
