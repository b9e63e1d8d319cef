"""Count trials that broke the lower bound of overlap: a loop faster than the slower of its front end and back end.

The chapter *Asynchronous computation* tells the story.
"""

from __future__ import annotations

from collections.abc import Mapping

from dlperf.measurement import Measurement


def violations(found: Mapping[str, Measurement], margin: float = 0.05) -> int:
    """Returns in how many trials of `costs.hold_against` the loop with one wait took less than its slower side.

    Less by more than ``margin`` of it. In such a trial a side was quicker in the loop than when its cost was measured.
    """
    trials = zip(*(found[name].samples for name in ("enqueue", "execute", "asynchronous")), strict=True)
    return sum(taken < (1 - margin) * max(enqueue, execute) for enqueue, execute, taken in trials)
