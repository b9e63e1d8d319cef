"""The claims of the chapter *Asynchronous computation*."""

from __future__ import annotations

from booktools.claims import Claim

CLAIMS = (
    Claim(
        id="async.enqueue",
        keys=("async.enqueue-share",),
        holds=lambda r: r["async.enqueue-share"] < 0.02,
    ),
    Claim(
        id="async.engine-cost",
        keys=("async.call-ratio",),
        holds=lambda r: r["async.call-ratio"].median < 3,
    ),
    Claim(
        id="async.cpu",
        keys=("async.left-pytorch",),
        holds=lambda r: r["async.left-pytorch"].median < 0.05,
    ),
    Claim(
        id="async.branches",
        keys=("async.branches-speedup",),
        holds=lambda r: r["async.branches-speedup"].median > 1.3,
        needs=("cores>=2",),
    ),
    Claim(
        id="async.back-end",
        keys=("async.back-asynchronous-fit",),
        holds=lambda r: 0.9 < r["async.back-asynchronous-fit"].median < 1.1,
        needs=("cores>=2",),
    ),
    Claim(
        id="async.front-end",
        keys=("async.front-woken-fit",),
        holds=lambda r: 0.9 < r["async.front-woken-fit"].median < 1.1,
        needs=("cores>=2",),
    ),
    Claim(
        id="async.lock",
        keys=("async.empty-fit",),
        holds=lambda r: r["async.empty-fit"].median < 0.9,
    ),
    Claim(
        id="async.depth-memory",
        keys=("async.bounded-fit",),
        holds=lambda r: 0.9 < r["async.bounded-fit"].median < 1.1,
    ),
    Claim(
        id="async.backlog",
        keys=("async.free-fit",),
        holds=lambda r: 0.9 < r["async.free-fit"].median < 1.1,
    ),
    Claim(
        id="async.memory",
        keys=("async.free-factor",),
        holds=lambda r: r["async.free-factor"].median >= 5,
    ),
    Claim(
        id="async.bounded",
        keys=("async.two-speed", "async.two-factor"),
        holds=lambda r: r["async.two-speed"].median >= 0.9 and r["async.two-factor"].median < 1.3,
    ),
    Claim(
        id="async.streams",
        keys=("async.streams-speedup",),
        holds=lambda r: r["async.streams-speedup"].median > 1.5,
        needs=("cuda",),
    ),
    Claim(
        id="async.loader",
        keys=("async.worker", "async.in-line"),
        holds=lambda r: r["async.worker"].median < r["async.in-line"].median,
    ),
    Claim(
        id="async.hidden",
        keys=("async.hidden-fit", "async.open-fit"),
        holds=lambda r: all(abs(r[key].median - 1) < 0.15 for key in ("async.hidden-fit", "async.open-fit")),
        needs=("cores>=2",),
    ),
)
