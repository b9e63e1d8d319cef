"""The claim of the tiny chapter, and what else its text follows."""

from booktools.claims.claims import Bound, Claim, Outcome
from booktools.claims.predictions import Prediction

CLAIMS = (Claim("tiny.positive", ("tiny.sum",), lambda r: r["tiny.sum"].median > 0, basis="theory"),)
OUTCOMES = (
    Outcome("tiny.large", ("tiny.size",), lambda r: r["tiny.size"] > 10),
    Outcome("tiny.gpu", ("tiny.size",), lambda r: r["tiny.size"] > 10, needs=("cuda",)),
    Bound("tiny.bound", ("tiny.size",), lambda r: r["tiny.size"] < 10),
)
PREDICTIONS = (Prediction("tiny-measure", ("tiny.size",), lambda r: 1100 / r["tiny.size"], "not known"),)
