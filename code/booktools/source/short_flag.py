"""Tell whether this process executes pages in short, by an environment variable.

`booktools.executions.short` says what that means. It is read here since the book's folders depend on it; every process
of a short execution imports this, so it imports nothing but the standard library.
"""

from __future__ import annotations

import os

SHORT = "BOOKTOOLS_SHORT"
"""The environment variable that makes executions short, and keeps them in a folder of their own."""


def is_short() -> bool:
    """Returns whether this process executes pages in short."""
    return bool(os.environ.get(SHORT))
