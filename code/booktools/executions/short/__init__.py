"""Short executions: every line of a page runs, but not as often. For tests; nothing takes one for a record.

``rule``    what is done less often, and how much less
``loader``  makes every import of ``dlperf`` in a process follow the rule
``kernel``  makes the cells of a notebook follow it; IPython runs it as a kernel starts
``site``    a folder for ``PYTHONPATH``: Python runs what is in it when it starts, so that worker processes follow too

`SHORT` in the environment makes an execution short, `variables` returns all that its processes need.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from booktools.source.short_flag import SHORT

MARK = "short"
"""What says in the metadata of a notebook that its execution was short."""

KEPT = "BOOKTOOLS_SHORT_KEPT"
"""The environment's name for the folder of rewritten modules, whose users all edit alike; without it, none is kept."""

ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",  # threads that wait for one another take a hundred times as long beside a busy neighbour
    "MKL_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
    "AOT_INDUCTOR_COMPILE_WRAPPER_OPT_LEVEL": "O0",
    "TORCHINDUCTOR_VEC_ISA_OK": "1",  # else each new folder of results first tries the compiler out, for five seconds
}
"""Settings of other programs that make an execution shorter."""

SECONDS = {
    "compilers": 266,
    "concise": 197,
    "servers": 116,
    "parallel": 103,
    "multigpu": 63,
    "hardware": 60,
    "measuring": 60,
    "slow": 53,
    "async": 45,
}
"""How long each page took in short, two pages at a time on two cores with nothing else to do. Only the order in which
pages are executed depends on it: in full they take other times, and what takes longest must not begin last."""

HERE = Path(__file__).resolve().parent


def longest_first(pages: Iterable[str], workers: int = 1) -> list[str]:
    """Returns pages in the order in which to execute them, the longest first; a page that has no seconds begins.

    pytest-xdist gives each of several ``workers`` two pages at once, which it then executes one after the other: those
    that each begins with are the longest, and the shortest are those that follow.
    """
    left = sorted(pages, key=lambda page: (-SECONDS.get(page, math.inf), page))
    pairs = min(workers, len(left) // 2) if workers > 1 else 0
    first, then, left = left[:pairs], left[len(left) - pairs :][::-1], left[pairs : len(left) - pairs]
    return [page for pair in zip(first, then, strict=True) for page in pair] + left


def variables(folder: Path) -> dict[str, str]:
    """Returns the environment variables of processes that execute in short; ``folder`` is for IPython's start, and for
    what has been rewritten."""
    startup = folder / "ipython" / "profile_default" / "startup"
    startup.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "kernel.py", startup / "short.py")
    before = os.environ.get("PYTHONPATH", "")
    return {
        **ENVIRONMENT,
        SHORT: "1",
        KEPT: str(folder / "kept"),
        "IPYTHONDIR": str(folder / "ipython"),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(HERE / "site"), str(HERE.parents[2]), before))),
    }
