"""The claim of the tiny chapter."""

from booktools.claims import Claim

CLAIMS = (Claim("tiny.positive", ("tiny.sum",), lambda r: r["tiny.sum"].median > 0),)
