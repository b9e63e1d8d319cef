"""Constants of executing notebooks. A kit carries this module to bare machines: it needs the standard library only."""

from __future__ import annotations

import re
from typing import Any

KEY = "dlperf"
"""Where a notebook's metadata keep its fingerprint and machine."""
TIMEOUTS: dict[str, Any] = {"startup_timeout": 600, "iopub_timeout": 600}
"""Seconds that a kernel may take to start, and its outputs to come after its reply: nbclient's own 60 and 4 are too few
on a busy machine. A kernel that has ended is seen at once."""
ANSI = re.compile(r"\x1b\[[0-9;]*m")
"""What colours a traceback in a terminal."""
