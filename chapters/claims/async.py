"""The claims of the chapter *Asynchronous computation*, each with its rival, and what else its text follows."""

from __future__ import annotations

from math import log

from booktools.claims.claims import Bound, Claim, Outcome, Records, Rival
from booktools.claims.predictions import fit, pair, stated

DEPTHS = {"async.one-more": 1, "async.two-more": 2}
"""For each bounded queue that was tried, the batches that it should hold beside the one at work."""


def bounded(r: Records) -> float:
    """Returns the growth of a process that waits for each batch, over the growth predicted for one that never waits."""
    grown = r["async.free-memory"].median
    return r["async.sync-memory"].median / (grown / r["async.free-fit"].median)


def room(r: Records) -> bool:
    """Returns whether the cores are not what holds up a loop that decodes: their term is not clearly the largest."""
    load, compute = r["async.decoded-load"].median, r["async.compute"].median
    return (load + compute) / r["async.decoded-expected"].median < 1.1 * max(load, compute)


def spared(r: Records) -> bool:
    """Returns whether a thread less for the step clearly helps a worker that decodes."""
    return r["async.decoded-spared-factor"].median > 1.05


def slower(r: Records) -> bool:
    """Returns whether a thread less for the step clearly costs more than it wins, by the margin of `spared`."""
    return r["async.decoded-spared-factor"].median < 1 / 1.05


def gain_met(r: Records) -> bool:
    """Returns whether what the predicted speed exceeds one by is right to within a quarter in three trials of four.

    Both quartiles of the prediction have to be: which of its trials is right is not known.
    """
    low, high = r["async.free-speed"].quartiles
    return all(near[0] <= low and high <= near[1] for near in map(within, r["async.free-speed-predicted"].quartiles))


def gain_missed(r: Records) -> bool:
    """Returns whether it is wrong by more than a quarter, to the same side of both quartiles, in three of four."""
    (low, high), (first, last) = (r[f"async.free-speed{side}"].quartiles for side in ("", "-predicted"))
    return high < within(first)[0] or low > within(last)[1]


def within(speed: float) -> tuple[float, float]:
    """Returns the speeds that have a quarter less and a quarter more than what ``speed`` exceeds one by."""
    return speed - 0.25 * (speed - 1), speed + 0.25 * (speed - 1)


def share_told(r: Records) -> bool:
    """Returns whether both savings are large and steady enough to be compared: no mark for a wide spread is due."""
    share = r["async.two-saved"]
    return r["async.free-speed"].quartiles[0] > 1.1 and share.quartiles[0] > 0 and share.spread <= 0.25


def no_core(r: Records) -> bool:
    """Returns whether the loop that decodes wins clearly less than the maximum promised."""
    return r["async.decoded-won"].median < 0.85 * r["async.could-decoded"]


ROOM = ("async.decoded-load", "async.compute", "async.decoded-expected")
"""What `room` reads."""

CLAIMS = (
    Claim(
        id="async.branches",
        basis="decision",
        keys=("async.branches-speedup",),
        holds=lambda r: r["async.branches-speedup"].median > 1.3,
        rival=Rival("the branches run one after the other", lambda r: {"async.branches-speedup": 1}),
        needs=("cores>=2",),
    ),
    *(
        Claim(
            id=f"async.{side}-end",
            basis="theory",
            keys=(f"async.slow-{side}-asynchronous-fit", f"async.slow-{side}-serial-fit"),
            holds=lambda r, fit=f"async.slow-{side}-asynchronous-fit", total=f"async.slow-{side}-serial-fit": (
                abs(log(r[fit].median)) < abs(log(r[total].median))
            ),
            rival=Rival(
                "the two sides never overlap, and a call takes their sum",
                lambda r, fit=f"async.slow-{side}-asynchronous-fit", total=f"async.slow-{side}-serial-fit": {
                    fit: r[fit].median / r[total].median,
                    total: 1,
                },
            ),
            needs=("cores>=2",),
        )
        for side in ("back", "front")
    ),
    Claim(
        id="async.lock",
        basis="record",
        keys=("async.lock-factor",),
        holds=lambda r: r["async.lock-factor"].median > 1.3,
        rival=Rival("whatever else runs Python slows a call down alike", lambda r: {"async.lock-factor": 1}),
        needs=("cores>=2",),
    ),
    Claim(
        id="async.depth-memory",
        basis="theory",
        keys=tuple(DEPTHS),
        holds=lambda r: all(abs(r[key].median - depth) < 0.5 for key, depth in DEPTHS.items()),
        rival=Rival(
            "the batch in the hands of the front end comes on top",
            lambda r: {key: depth + 1 for key, depth in DEPTHS.items()},
        ),
    ),
    Claim(
        id="async.backlog",
        basis="prediction",
        keys=("async.free-fit", "async.free-memory", "async.sync-memory"),
        holds=lambda r: 0.9 < r["async.free-fit"].median < 1.1,
        rival=Rival("a queue holds no more without a bound than with one", lambda r: {"async.free-fit": bounded(r)}),
    ),
    Claim(
        id="async.streams",
        basis="midway",
        keys=("async.streams-speedup",),
        holds=lambda r: r["async.streams-speedup"].median > 1.5,
        rival=Rival("a GPU runs one kernel after the other", lambda r: {"async.streams-speedup": 1}),
        needs=("cuda",),
    ),
    Claim(
        id="async.hidden",
        basis="record",
        keys=("async.predicted-factor", "async.hidden-factor"),
        holds=lambda r: 0.85 < r["async.predicted-factor"].median / r["async.hidden-factor"].median < 1.15,
        rival=Rival("to read a value costs nothing but the reading", lambda r: {"async.hidden-factor": 1}),
        needs=("cores>=2",),
    ),
)

OUTCOMES = (
    Outcome(
        id="async.saves",
        keys=("async.free-speed", "async.two-saved"),
        holds=share_told,
    ),
    Outcome(
        id="async.saves-all",
        keys=("async.free-speed", "async.two-saved"),
        holds=lambda r: share_told(r) and r["async.two-saved"].quartiles[1] >= 1,
    ),
    Outcome(
        id="async.saves-more",
        keys=("async.free-speed", "async.two-saved"),
        holds=lambda r: share_told(r) and r["async.two-saved"].quartiles[0] > 1,
    ),
    Bound(  # no overlap does a loop in less than its slower side takes; `lower_bound` allows for a twentieth
        id="async.floor",
        keys=("async.below",),
        holds=lambda r: r["async.below"] == 0,
    ),
    Outcome(  # a quarter of the gain more or less would change no decision
        id="async.free-told",
        keys=("async.free-speed", "async.free-speed-predicted"),
        holds=lambda r: gain_met(r) or gain_missed(r),
    ),
    Outcome(
        id="async.free-missed",
        keys=("async.free-speed", "async.free-speed-predicted"),
        holds=gain_missed,
    ),
    Bound(
        id="async.two-devices-bound",
        keys=("async.branches-speedup",),
        holds=lambda r: r["async.branches-speedup"].quartiles[0] <= 2,
    ),
    Outcome(
        id="async.sum",
        keys=("async.empty-fit", "async.empty-serial-fit"),
        holds=lambda r: abs(r["async.empty-serial-fit"].median - 1) < abs(r["async.empty-fit"].median - 1),
    ),
    Outcome(  # as for the claims of the section before
        id="async.medium-sum",
        keys=("async.medium-fit", "async.medium-serial-fit"),
        holds=lambda r: abs(log(r["async.medium-serial-fit"].median)) < abs(log(r["async.medium-fit"].median)),
    ),
    Outcome(  # three trials of four with the short interval are nearer than three of four without it
        id="async.soon",
        keys=("async.soon-fit", "async.medium-fit"),
        holds=lambda r: r["async.soon-fit"].quartiles[0] > r["async.medium-fit"].quartiles[1],
    ),
    Outcome(
        id="async.deeper",
        keys=("async.deeper-speed",),
        holds=lambda r: r["async.deeper-speed"].quartiles[0] < 1.1,
    ),
    Outcome(
        id="async.decoded",
        keys=("async.decoded-worker-fit",),
        holds=lambda r: r["async.decoded-worker-fit"].median > 6 / 7,
    ),
    Bound(
        id="async.beyond",
        keys=("async.decoded-worker-fit",),
        holds=lambda r: r["async.decoded-worker-fit"].median < 1.15,
    ),
    Outcome(
        id="async.spared",
        keys=("async.decoded-spared-factor",),
        holds=spared,
    ),
    Outcome(
        id="async.spared-slower",
        keys=("async.decoded-spared-factor",),
        holds=slower,
    ),
    Outcome(
        id="async.needless",
        keys=("async.decoded-spared-factor", "async.decoded-worker-fit", *ROOM),
        holds=lambda r: room(r) and not spared(r) and r["async.decoded-worker-fit"].median > 6 / 7,
    ),
    Outcome(
        id="async.traded",
        keys=("async.decoded-spared-factor", *ROOM),
        holds=lambda r: not room(r) and not spared(r) and not slower(r),
    ),
    Outcome(
        id="async.behind",
        keys=("async.decoded-load", "async.compute"),
        holds=lambda r: r["async.decoded-load"].median > 1.1 * r["async.compute"].median,
    ),
    Outcome(
        id="async.vanished",
        keys=("async.left-fetched",),
        holds=lambda r: r["async.left-fetched"] < 0.1,
    ),
    Outcome(
        id="async.no-core",
        keys=("async.decoded-won", "async.could-decoded"),
        holds=no_core,
    ),
    Outcome(
        id="async.untold",
        keys=("async.decoded-won", "async.could-decoded", *ROOM),
        holds=lambda r: not no_core(r) and not room(r),
    ),
    Outcome(
        id="async.copied",
        keys=("async.copied-ahead",),
        holds=lambda r: r["async.copied-ahead"].median > 1.1,
        needs=("cuda",),
    ),
    Outcome(
        id="async.read-each",
        keys=("async.read-each",),
        holds=lambda r: r["async.read-each"].median > 1.1,
        needs=("cuda",),
    ),
    Outcome(
        id="async.reused",
        keys=("async.reused",),
        holds=lambda r: r["async.reused"] == 1,
        needs=("cuda",),
    ),
    Outcome(
        id="async.side-by-side",
        keys=("async.drawing-beside", "async.working-beside"),
        holds=lambda r: max(r[f"async.{side}-beside"].quartiles[1] for side in ("drawing", "working")) < 1.2,
    ),
    Outcome(
        id="async.cpu",
        keys=("async.left-pytorch",),
        holds=lambda r: r["async.left-pytorch"].median < 0.05,
    ),
    Outcome(
        id="async.enqueue",
        keys=("async.enqueue-share",),
        holds=lambda r: r["async.enqueue-share"] < 0.02,
    ),
    Outcome(
        id="async.loader",
        keys=("async.worker-saved",),
        holds=lambda r: r["async.worker-saved"].median > 0.5,
    ),
    Bound(
        id="async.loader-bound",
        keys=("async.worker-saved",),
        holds=lambda r: r["async.worker-saved"].quartiles[0] <= 1,
    ),
)

LOCK = "waiting for Python's lock, tried as a cause"
HANDED = "handing a batch from process to process, as we suspect"
SLOWEST = "a step that waits for its slowest thread, as we suspect"
TOGETHER = "sides that take longer side by side than alone"
PREDICTIONS = (
    fit("async-lock", "async.empty-fit", LOCK),
    fit("async-lock", "async.medium-fit", LOCK),
    fit("async-lock", "async.soon-fit", LOCK),
    fit("async-costs", "async.slow-back-asynchronous-fit", "threads of one core, or other work, as we suspect"),
    fit("async-costs", "async.slow-back-synchronous-fit"),
    fit("async-costs", "async.slow-front-asynchronous-fit", "waking the back end, and other work on that core"),
    fit("async-costs", "async.slow-front-synchronous-fit"),
    stated("async-memory", 1, "async.free-fit", "a machine that is slower for a part of the time, as we suspect"),
    pair("async-memory", "async.free-speed-predicted", "async.free-speed", "hearing of the end of each batch"),
    fit("async-cpu", "async.fetched-in-line-fit"),
    fit("async-cpu", "async.fetched-worker-fit", HANDED),
    fit("async-cpu", "async.decoded-in-line-fit"),
    fit("async-cpu", "async.decoded-worker-fit", SLOWEST),
    pair("async-cpu", "async.could-fetched", "async.fetched-factor"),
    pair("async-cpu", "async.fetched-expected", "async.fetched-factor", HANDED),
    pair("async-cpu", "async.decoded-expected", "async.decoded-factor", SLOWEST),
    fit("async-hidden", "async.hidden-fit"),
    fit("async-hidden", "async.open-fit", TOGETHER),
    pair("async-hidden", "async.predicted-factor", "async.hidden-factor", TOGETHER),
    pair("async-again", "async.could-decoded", "async.decoded-won", "cores that decoding shares with the step"),
)
