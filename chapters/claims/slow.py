"""The claim of the page *Why is my training slow?* with its rival, and what else its text follows."""

from __future__ import annotations

from statistics import mean

from booktools.claims.claims import Claim, Outcome, Rival

CLAIMS = (
    Claim(
        id="slow.data",
        basis="decision",
        keys=("slow.waits-fetched", "slow.waits-in-memory"),
        holds=lambda r: r["slow.waits-fetched"] > 2 * r["slow.waits-in-memory"],
        rival=Rival(
            "what the loop waits for is not the fetching",
            lambda r: {"slow.waits-fetched": r["slow.waits-in-memory"]},
        ),
    ),
)

OUTCOMES = (
    Outcome(  # late turns as far apart as an epoch has, and a twentieth of the time lost in them
        id="slow.border",
        keys=("slow.lost-anew", "slow.apart"),
        holds=lambda r: r["slow.apart"] == 1 and r["slow.lost-anew"] > 0.05,
    ),
    Outcome(
        id="slow.lasting",
        keys=("slow.lost-anew", "slow.lost-lasting"),
        holds=lambda r: r["slow.lost-lasting"] < r["slow.lost-anew"] / 2,
    ),
    Outcome(
        id="slow.every",
        keys=("slow.every",),
        holds=lambda r: r["slow.every"] == 2,
    ),
    Outcome(
        id="slow.denormal",
        keys=("slow.denormal",),
        holds=lambda r: r["slow.denormal"].median > 2,
    ),
    Outcome(  # half of what denormal numbers cost, or more, is saved
        id="slow.flushed",
        keys=("slow.denormal", "slow.flushed"),
        holds=lambda r: r["slow.flushed"].median < r["slow.denormal"].median / 2,
    ),
    Outcome(  # of what flushing leaves, a tenth or more, roots of zeros explain the larger part in three turns of four
        id="slow.zeros",
        keys=("slow.denormal", "slow.flushed", "slow.zeros"),
        holds=lambda r: (
            1.1 < r["slow.flushed"].median < r["slow.denormal"].median / 2
            and mean(
                zeros - 1 > (flushed - 1) / 2
                for zeros, flushed in zip(r["slow.zeros"].samples, r["slow.flushed"].samples, strict=False)
            )
            >= 0.75
        ),
    ),
    Outcome(
        id="slow.threads",
        keys=("slow.threads",),
        holds=lambda r: r["slow.threads"].median < 0.9 and r["slow.threads"].quartiles[1] < 1,
    ),
    Outcome(
        id="slow.anomaly",
        keys=("slow.anomaly",),
        holds=lambda r: r["slow.anomaly"].median > 1.1,
    ),
    Outcome(
        id="slow.late",
        keys=("slow.waits-first", "slow.waits-late"),
        holds=lambda r: r["slow.waits-first"].median > 2 * r["slow.waits-late"].median,
    ),
    Outcome(
        id="slow.busy",
        keys=("slow.busy",),
        holds=lambda r: r["slow.busy"] > 0.8,
    ),
    Outcome(
        id="slow.workers",
        keys=("slow.waits-fetched", "slow.waits-workers"),
        holds=lambda r: r["slow.waits-workers"] < r["slow.waits-fetched"] / 2,
    ),
    Outcome(
        id="slow.host",
        keys=("slow.from-one",),
        holds=lambda r: r["slow.from-one"].median < 1.7,
    ),
    Outcome(
        id="slow.filled",
        keys=("slow.from-many",),
        holds=lambda r: r["slow.from-many"].median > 1.7,
    ),
    Outcome(
        id="slow.reads",
        keys=("slow.reading",),
        holds=lambda r: r["slow.reading"].median > 1.1,
    ),
    Outcome(
        id="slow.pinned",
        keys=("slow.pageable",),
        holds=lambda r: r["slow.pageable"].median > 1.1,
        needs=("cuda",),
    ),
    Outcome(
        id="slow.graphs",
        keys=("slow.graphs-unasked", "slow.graphs-dynamic"),
        holds=lambda r: r["slow.graphs-unasked"] <= r["slow.graphs-dynamic"],
    ),
    Outcome(
        id="slow.products",
        keys=("slow.products",),
        holds=lambda r: r["slow.products"] > 0.5,
    ),
    Outcome(
        id="slow.fusion",
        keys=("slow.by-hand",),
        holds=lambda r: r["slow.by-hand"].median > 1.2,
    ),
    Outcome(
        id="slow.compute",
        keys=("slow.attained",),
        holds=lambda r: r["slow.attained"].median > 0.5,
    ),
    Outcome(
        id="slow.wide",  # float64 is no faster than float32, as it is where only its products go to matrix units
        keys=("slow.float64",),
        holds=lambda r: r["slow.float64"].median > 1,
    ),
    Outcome(  # a twentieth: for less nobody should give up digits. Was `slow.narrow`, one product's time below one,
        # until a product took 0.55 of the time and a whole step 0.99 (Zen 4)
        id="slow.autocast",
        keys=("slow.autocast",),
        holds=lambda r: r["slow.autocast"].median < 0.95,
    ),
    Outcome(
        id="slow.tensor-cores",
        keys=("slow.high",),
        holds=lambda r: r["slow.high"] > 1.1,
        needs=("cuda",),
    ),
    Outcome(
        id="slow.shape",  # of the larger matrix; the limit is as before
        keys=("slow.odd-large",),
        holds=lambda r: r["slow.odd-large"].quartiles[0] > 1.1,
    ),
    Outcome(
        id="slow.alignment",  # with as many tiles, rows that begin elsewhere cost more than half of what one more costs
        keys=("slow.odd-large", "slow.moved-large"),
        holds=lambda r: (
            r["slow.odd-large"].median > 1.1 and r["slow.moved-large"].median - 1 > (r["slow.odd-large"].median - 1) / 2
        ),
    ),
    Outcome(
        id="slow.walk",
        keys=("slow.across",),
        holds=lambda r: r["slow.across"].median > 1.5,
    ),
    Outcome(  # half as much again as where a cache holds all; the limit is that of `slow.walk`
        id="slow.evicted",
        keys=("slow.across-longer", "slow.across-small"),
        holds=lambda r: r["slow.across-longer"].median > 1.5 * r["slow.across-small"].median,
    ),
    Outcome(  # half as much again as with rows of no power of two, which fit no cache either
        id="slow.sets",
        keys=("slow.across", "slow.across-longer"),
        holds=lambda r: r["slow.across"].median > 1.5 * r["slow.across-longer"].median,
    ),
)
