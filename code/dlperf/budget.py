"""Compute the time that the running notebook cell has left before its limit, `DLPERF_CELL_SECONDS`.

What executes a page sets the limit, and measuring keeps to it.
"""

from __future__ import annotations

import math
import os
from datetime import UTC, datetime

VARIABLE = "DLPERF_CELL_SECONDS"
"""The environment variable that holds a cell's limit in seconds; unset, nothing limits it."""


def seconds_left() -> float:
    """Returns the seconds until the cell that is running reaches its limit, 0 beyond it, ``inf`` without one.

    The cell began when its request was sent, which is from when the sender counts. Outside a notebook
    there is no cell. Raises ValueError where ``DLPERF_CELL_SECONDS`` is no number of seconds.
    """
    began = _began()
    if VARIABLE not in os.environ or began is None:
        return math.inf
    passed = (datetime.now(UTC) - began).total_seconds()
    return max(0.0, _limit() - passed)


def _limit() -> float:
    text = os.environ[VARIABLE]
    try:
        limit = float(text)
    except ValueError:
        limit = math.nan
    if not limit > 0:
        raise ValueError(f"{VARIABLE} is the seconds that a cell may take, such as 300; got {text!r}")
    return limit


def _began() -> datetime | None:
    """Returns when the request for the cell that is running was sent; None outside a notebook's kernel."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError:
        return None
    parent = getattr(get_ipython(), "get_parent", None)  # neither a script nor IPython in a terminal has it
    return parent().get("header", {}).get("date") if parent else None
