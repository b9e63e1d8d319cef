"""Exceptions of the key-value store: refused requests, timeouts, and lost workers or key ranges.

They say what was wrong and what would be right.
"""

from __future__ import annotations

from typing import Any


class StoreError(RuntimeError):
    """The store could not do what it was asked to."""


class Refused(StoreError):
    """A server did not accept a request, which changes nothing, ever; ``reason`` is one of `wire.REASONS`."""

    def __init__(self, reason: Any, detail: str) -> None:
        super().__init__(detail)
        self.reason, self.detail = reason, detail


class Unreachable(StoreError, TimeoutError):
    """No answer came for as long as the worker was to wait. What had not been acknowledged may or may not count."""


class Lost(StoreError):
    """A worker, or the last copy of a range of keys, is gone."""
