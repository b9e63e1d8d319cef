"""The claims of the chapter *Automatic parallelism*."""

from __future__ import annotations

from booktools.claims import Claim

CLAIMS: tuple[Claim, ...] = ()
