"""Replace the published site by a newly built one in one step, atomic where the system can."""

from __future__ import annotations

import ctypes
import os
import shutil
from pathlib import Path

from booktools.site.disk_space import is_full
from booktools.source.book import BookError

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_UNPUBLISHED = shutil.ignore_patterns(".buildinfo", "objects.inv.tmp", "jupyter_execute")


def publish(built: Path, site: Path) -> None:
    """Copies ``built`` beside the site and puts it in its place; whoever looks finds the old one or the new one."""
    fresh = site.with_name("html.new")
    try:
        mend(site)
        shutil.copytree(built, fresh, ignore=_UNPUBLISHED)
        if site.exists():
            exchange(fresh, site)
            shutil.rmtree(fresh)
        else:
            fresh.rename(site)
    except (OSError, shutil.Error) as error:
        mend(site)
        if is_full(error):
            raise
        reason = getattr(error, "strerror", None) or error
        raise BookError(f"{site}: the site could not be put in place ({reason})") from None


def exchange(fresh: Path, site: Path) -> None:
    """Exchanges two folders: at once where the system can, else by way of ``html.old``, which `mend` knows."""
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    here, there = os.fsencode(fresh), os.fsencode(site)
    if rename is not None and rename(_AT_FDCWD, here, _AT_FDCWD, there, _RENAME_EXCHANGE) == 0:
        return
    old = site.with_name("html.old")
    site.rename(old)
    fresh.rename(site)
    old.rename(fresh)


def mend(site: Path) -> None:
    """Removes what a build that was killed has left beside the site, once the site itself is whole.

    Between two renames of such a build, ``html.old`` may have been all that there was.
    """
    fresh, old = site.with_name("html.new"), site.with_name("html.old")
    if old.exists() and not site.exists():
        old.rename(site)
    for left_over in (fresh, old):
        shutil.rmtree(left_over, ignore_errors=True)
