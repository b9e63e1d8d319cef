"""Count minor page faults of this process, in total and per call of a function."""

from __future__ import annotations

from collections.abc import Callable

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]


def pages() -> int:
    """Returns how many pages of memory the system has found for this process so far; 0 where it does not tell."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt if resource else 0


def page_faults(fn: Callable[[], object], calls: int = 1) -> float:
    """Returns how many pages the system finds for this process in each of so many calls of ``fn``.

    Raises ValueError if ``calls`` is below 1.
    """
    if calls < 1:
        raise ValueError(f"pages per call need at least one call, got {calls}")
    before = pages()
    for _ in range(calls):
        fn()
    return (pages() - before) / calls
