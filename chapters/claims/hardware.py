"""The claims of the chapter *Hardware*, each with its rival, and what else its text follows."""

from __future__ import annotations

from booktools.claims import Bound, Claim, Outcome, Rival

CLAIMS: tuple[Claim, ...] = (
    Claim(
        id="hardware.eight-chains",
        keys=("hardware.eight-over-one",),
        holds=lambda r: r["hardware.eight-over-one"].median < 4,
        rival=Rival("one chain begins when another has ended", lambda r: {"hardware.eight-over-one": 8}),
    ),
    Claim(
        id="hardware.levels",
        keys=("hardware.latency-16k", "hardware.latency-64m"),
        holds=lambda r: r["hardware.latency-64m"].median >= 10 * r["hardware.latency-16k"].median,
        rival=Rival(
            "a second cache holds 64 MiB too",
            lambda r: {"hardware.latency-64m": 5 * r["hardware.latency-16k"].median},
        ),
    ),
    Claim(
        id="hardware.first-load",
        keys=("hardware.word-alone", "hardware.word-8"),
        holds=lambda r: r["hardware.word-alone"].median >= 100 * r["hardware.word-8"].median,
        rival=Rival(
            "nothing is asked for early: eight words wait for their line",
            lambda r: {"hardware.word-8": r["hardware.word-alone"].median / 8},
        ),
    ),
    Claim(
        id="hardware.line",
        keys=("hardware.line-share",),
        holds=lambda r: r["hardware.line-share"].median >= 3,
        rival=Rival("memory delivers single words", lambda r: {"hardware.line-share": 1}),
    ),
    Claim(
        id="hardware.mbw",
        keys=("hardware.mbw-ratio",),
        holds=lambda r: 0.85 < r["hardware.mbw-ratio"].median < 1.15,
        rival=Rival("one of the two stores around the caches", lambda r: {"hardware.mbw-ratio": 2 / 3}),
        needs=("linux",),
    ),
    Claim(
        id="hardware.sizes",
        keys=("hardware.l1-detected", "hardware.l2-detected"),
        holds=lambda r: all(1 / 2 < r[f"hardware.l{n}-detected"] < 2 for n in (1, 2)),
        rival=Rival("this machine gets a quarter of its L2 cache", lambda r: {"hardware.l2-detected": 1 / 4}),
        needs=("linux",),
    ),
    Claim(
        id="hardware.padding",
        keys=("hardware.padding-gain",),
        holds=lambda r: r["hardware.padding-gain"].median >= 1.5,
        rival=Rival("every address may lie in every place", lambda r: {"hardware.padding-gain": 1}),
    ),
    Claim(
        id="hardware.false-sharing",
        keys=("hardware.false-sharing",),
        holds=lambda r: r["hardware.false-sharing"].median >= 1.2,
        rival=Rival("counters of their own share nothing", lambda r: {"hardware.false-sharing": 1}),
        needs=("cores>=2",),
    ),
    Claim(
        id="hardware.flight",
        keys=("hardware.flight-gain",),
        holds=lambda r: r["hardware.flight-gain"].median > 4,
        rival=Rival("instructions begin one after another", lambda r: {"hardware.flight-gain": 1}),
    ),
    Claim(
        id="hardware.vectors",
        keys=("hardware.simd-gain", "hardware.simd-int8-gain"),
        holds=lambda r: min(r["hardware.simd-gain"].median, r["hardware.simd-int8-gain"].median) > 3,
        rival=Rival("lanes take turns in one unit", lambda r: {"hardware.simd-gain": 1, "hardware.simd-int8-gain": 1}),
    ),
    Claim(
        id="hardware.fma-peak",
        keys=("hardware.fma-of-published",),
        holds=lambda r: 0.9 < r["hardware.fma-of-published"].median < 1.1,
        rival=Rival(
            "the core has a unit more than is published, two instead of one or three instead of two",
            lambda r: {"hardware.fma-of-published": 1.5},
        ),
    ),
    Claim(
        id="hardware.mispredict",
        keys=("hardware.mispredict-cycles",),
        holds=lambda r: 8 < r["hardware.mispredict-cycles"].median < 40,
        rival=Rival(
            "a wrong guess costs the load and the comparison before it",
            lambda r: {"hardware.mispredict-cycles": 6},
        ),
    ),
    Claim(
        id="hardware.page-cache",
        keys=("hardware.read-ahead", "hardware.read-ahead-random"),
        holds=lambda r: r["hardware.read-ahead"] > 3 and r["hardware.read-ahead-random"] < 2,
        rival=Rival(
            "the system reads on behind every read, whatever was read before",
            lambda r: {"hardware.read-ahead-random": r["hardware.read-ahead"]},
        ),
        needs=("linux",),
    ),
    Claim(
        id="hardware.kept",
        keys=("hardware.kept-over-taken",),
        holds=lambda r: r["hardware.kept-over-taken"].median > 1.3,
        rival=Rival("fsync asks the disk for nothing", lambda r: {"hardware.kept-over-taken": 1}),
        needs=("linux",),
    ),
    Claim(
        id="hardware.disk-line",
        keys=("hardware.disk-missed", "hardware.disk-missed-bytes"),
        holds=lambda r: r["hardware.disk-missed"] < 0.5 * r["hardware.disk-missed-bytes"],
        rival=Rival(
            "the time is proportional to the bytes",
            lambda r: {"hardware.disk-missed": r["hardware.disk-missed-bytes"]},
        ),
        needs=("linux",),
    ),
    Claim(
        id="hardware.depth",
        keys=("hardware.depth-gain",),
        holds=lambda r: r["hardware.depth-gain"].median > 1.5,
        rival=Rival("a disk serves one read after another", lambda r: {"hardware.depth-gain": 1}),
        needs=("linux",),
    ),
    Claim(
        id="hardware.fio",
        keys=("hardware.fio-random", "hardware.fio-deep"),
        holds=lambda r: all(1 / 1.5 < r[f"hardware.fio-{name}"].median < 1.5 for name in ("random", "deep")),
        rival=Rival("one of the two reads twice for each that it counts", lambda r: {"hardware.fio-random": 0.5}),
        needs=("linux",),
    ),
    Claim(
        id="hardware.copies-cached",
        keys=("hardware.copy-cached", "hardware.copy-large"),
        holds=lambda r: r["hardware.copy-cached"].median > 1.5 * r["hardware.copy-large"].median,
        rival=Rival(
            "a copy has one rate, whatever its size",
            lambda r: {"hardware.copy-cached": r["hardware.copy-large"].median},
        ),
    ),
    Claim(
        id="hardware.gpu-pinned",
        keys=("hardware.gpu-pageable-cost",),
        holds=lambda r: r["hardware.gpu-pageable-cost"].median > 1.2,
        rival=Rival("the bus fetches from all memory alike", lambda r: {"hardware.gpu-pageable-cost": 1}),
        needs=("cuda",),
    ),
    Claim(
        id="hardware.links-line",
        keys=("hardware.missed-gigabit", "hardware.missed-gigabit-bytes"),
        holds=lambda r: r["hardware.missed-gigabit"] < 0.5 * r["hardware.missed-gigabit-bytes"],
        rival=Rival(
            "the time is proportional to the bytes",
            lambda r: {"hardware.missed-gigabit": r["hardware.missed-gigabit-bytes"]},
        ),
        needs=("linux",),
    ),
    Claim(
        id="hardware.core-to-core",
        keys=("hardware.short-memory", "hardware.short-loopback"),
        holds=lambda r: r["hardware.short-memory"].median < r["hardware.short-loopback"].median / 10,
        rival=Rival(
            "the kernel costs as little as watching a line",
            lambda r: {"hardware.short-loopback": 2 * r["hardware.short-memory"].median},
        ),
        needs=("cores>=2",),
    ),
    Claim(
        id="hardware.goodput",
        keys=("hardware.goodput-gigabit", "hardware.payload"),
        holds=lambda r: abs(r["hardware.goodput-gigabit"].median / r["hardware.payload"] - 1) < 0.03,
        rival=Rival("headers cost nothing", lambda r: {"hardware.goodput-gigabit": 1}),
        needs=("linux",),
    ),
    Claim(
        id="hardware.iperf3",
        keys=("hardware.iperf3-gigabit", "hardware.payload"),
        holds=lambda r: abs(r["hardware.iperf3-gigabit"].median - 1) < 0.03,
        rival=Rival(
            "iperf3 counts the headers too",
            lambda r: {"hardware.iperf3-gigabit": r["hardware.payload"]},
        ),
        needs=("linux",),
    ),
    Claim(
        id="hardware.new-memory",
        keys=("hardware.new-memory",),
        holds=lambda r: r["hardware.new-memory"].median > 1.2,
        rival=Rival("only the addition takes time", lambda r: {"hardware.new-memory": 1}),
    ),
)

OUTCOMES: tuple[Outcome, ...] = (
    Bound(
        id="hardware.waits",  # a step waits five cycles
        keys=("hardware.cycles-one",),
        holds=lambda r: r["hardware.cycles-one"].median > 4.8,
    ),
    Bound(
        id="hardware.multiplier",  # one multiplication begins in a cycle
        keys=("hardware.cycles-eight",),
        holds=lambda r: r["hardware.cycles-eight"].median > 7.8,
    ),
    Outcome(
        id="hardware.two-cores",
        keys=("hardware.beside-one", "hardware.beside-eight"),
        holds=lambda r: all(r[f"hardware.beside-{name}"].quartiles[1] < 1.15 for name in ("one", "eight")),
        needs=("cores>=2",),
    ),
    Outcome(
        id="hardware.huge-pages",
        keys=("hardware.latency-largest", "hardware.latency-huge"),
        holds=lambda r: r["hardware.latency-largest"].median > 1.1 * r["hardware.latency-huge"].median,
        needs=("linux",),
    ),
    Outcome(
        id="hardware.unlucky-stride",
        keys=("hardware.page-share", "hardware.past-page-share"),
        holds=lambda r: r["hardware.page-share"].median > 1.3 * r["hardware.past-page-share"].median,
    ),
    Outcome(
        id="hardware.write-allocate",
        keys=("hardware.write-over-update",),
        holds=lambda r: r["hardware.write-over-update"].median > 0.75,
    ),
    Outcome(
        id="hardware.around",
        keys=("hardware.around-gain",),
        holds=lambda r: r["hardware.around-gain"].median > 1.1,
    ),
    Outcome(
        id="hardware.memory-full",
        keys=("hardware.triad-gain", "hardware.triad-cores"),
        holds=lambda r: r["hardware.triad-gain"].median < 0.85 * r["hardware.triad-cores"],
        needs=("cores>=2",),
    ),
    Outcome(
        id="hardware.columns",
        keys=("hardware.columns-over-rows",),
        holds=lambda r: r["hardware.columns-over-rows"].median > 8,
    ),
    Outcome(
        id="hardware.second-cache",
        keys=("hardware.columns-miss-l2",),
        holds=lambda r: r["hardware.columns-miss-l2"] > 0.9,
        needs=("linux",),
    ),
    Outcome(
        id="hardware.nominal-clock",
        keys=("hardware.clock", "hardware.clock-reported"),
        holds=lambda r: abs(r["hardware.clock-reported"] / r["hardware.clock"].median - 1) > 0.03,
        needs=("linux",),
    ),
    Outcome(
        id="hardware.full-vectors",
        keys=("hardware.simd-gain", "hardware.simd-lanes"),
        holds=lambda r: r["hardware.simd-gain"].median > 0.75 * r["hardware.simd-lanes"],
    ),
    Bound(
        id="hardware.whole-cycles",  # a latency in cycles and a number of units are whole
        keys=("hardware.fma-cycles", "hardware.fma-units"),
        holds=lambda r: all(
            abs(x / max(1, round(x)) - 1) < 0.04 for x in (r["hardware.fma-cycles"], r["hardware.fma-units"].median)
        ),
    ),
    Bound(
        id="hardware.fma-bound",  # cores do no more than every factor together
        keys=("hardware.fma-share-one", "hardware.fma-share-all"),
        holds=lambda r: all(r[f"hardware.fma-share-{name}"].quartiles[1] <= 1.01 for name in ("one", "all")),
    ),
    Outcome(
        id="hardware.all-cores",
        keys=("hardware.fma-share-all",),
        holds=lambda r: r["hardware.fma-share-all"].median > 0.95,
    ),
    Bound(
        id="hardware.product-bound",  # without a matrix unit, no product passes the peak of multiply-adds
        keys=("hardware.product-float32-share",),
        holds=lambda r: r["hardware.product-float32-share"].median < 1.1,
        needs=("linux",),
    ),
    Bound(
        id="hardware.half-lanes",  # half of the lanes, half of the peak
        keys=("hardware.product-float64-share",),
        holds=lambda r: r["hardware.product-float64-share"].median < 0.52,
    ),
    Outcome(
        id="hardware.narrow",
        keys=("hardware.product-bfloat16-gain", "hardware.product-int8-gain"),
        holds=lambda r: all(r[f"hardware.product-{name}-gain"].median > 1.2 for name in ("bfloat16", "int8")),
        needs=("linux",),
    ),
    Outcome(
        id="hardware.depth-little",
        keys=("hardware.depth-4",),
        holds=lambda r: r["hardware.depth-4"].median > 0.8 * 4,
        needs=("linux",),
    ),
    Bound(
        id="hardware.links-bound",  # a link delivers no more than the headers leave
        keys=("hardware.line-of-gigabit", "hardware.payload"),
        holds=lambda r: r["hardware.line-of-gigabit"] <= 1.005 * r["hardware.payload"],
        needs=("linux",),
    ),
    Bound(
        id="hardware.goodput-bound",  # nor does a long message
        keys=("hardware.goodput-gigabit", "hardware.payload"),
        holds=lambda r: r["hardware.goodput-gigabit"].quartiles[0] <= r["hardware.payload"],
        needs=("linux",),
    ),
    Outcome(
        id="hardware.fast-link",
        keys=("hardware.goodput-ten-gigabit", "hardware.payload"),
        holds=lambda r: r["hardware.goodput-ten-gigabit"].median > 0.97 * r["hardware.payload"],
        needs=("linux",),
    ),
    Bound(
        id="hardware.roof",  # an operation does no more than its roof
        keys=("hardware.roof-highest",),
        holds=lambda r: r["hardware.roof-highest"] <= 1.02,
    ),
    Outcome(
        id="hardware.large-pages",
        keys=("hardware.new-memory", "hardware.new-memory-large"),
        holds=lambda r: r["hardware.new-memory-large"].median < r["hardware.new-memory"].median,
        needs=("linux",),
    ),
    Outcome(
        id="hardware.changed",
        keys=("hardware.latency-64m", "hardware.latency-again"),
        holds=lambda r: abs(r["hardware.latency-again"].median / r["hardware.latency-64m"].median - 1) > 0.1,
    ),
    Outcome(
        id="hardware.same-cores",
        keys=("hardware.beside-eight", "hardware.beside-again"),
        holds=lambda r: abs(r["hardware.beside-again"].median - r["hardware.beside-eight"].median) < 0.15,
        needs=("cores>=2",),
    ),
    Outcome(
        id="hardware.layouts",
        keys=("hardware.layouts",),
        holds=lambda r: r["hardware.layouts"].median < 16,
    ),
    Outcome(
        id="hardware.disk-cache",
        keys=("hardware.disk-grows",),
        holds=lambda r: r["hardware.disk-grows"] < 2,
        needs=("linux",),
    ),
    Outcome(
        id="hardware.ways",
        keys=("hardware.ways-seen", "hardware.ways-told"),
        holds=lambda r: r["hardware.ways-seen"] == r["hardware.ways-told"],
        needs=("linux",),
    ),
    Outcome(
        id="hardware.backward-too",
        keys=("hardware.backward",),
        holds=lambda r: r["hardware.backward"].median < 1.1,
    ),
    Outcome(
        id="hardware.loopback-headers",
        keys=("hardware.udp-extra",),
        holds=lambda r: r["hardware.udp-extra"] == 28,
    ),
)
