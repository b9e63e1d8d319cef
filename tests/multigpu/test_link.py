"""The latency of messages in quick succession, from seconds that a made-up link takes."""

from __future__ import annotations

from itertools import cycle

import pytest

from dlperf.alpha_beta import Line
from dlperf.multigpu import link
from dlperf.multigpu.group import Crew

ALONE = Line(1e-3, 1e-8)
TWO = Crew(lambda fn, *args: [0.0, 0.0], "host")


def made_up(latency: float) -> float:
    """Returns the latency that is found where each message adds so many seconds, on a link whose rate drifts."""
    drift = cycle((0.04, 0.04, 0.9, 0.9, 0.05, 0.05))  # both of a turn alike
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(link, "_begun_at_once", lambda pair, number: next(drift) + 2 * number * latency)
        found = link.in_succession(TWO, ALONE, repeats=6)
    assert found.beta == ALONE.beta
    return found.alpha


def test_what_is_longer_in_parts_is_shared_among_the_messages() -> None:
    assert made_up(2e-4) == pytest.approx(2e-4)


@pytest.mark.parametrize("latency", [0.0, -1e-3])
def test_parts_that_take_no_longer_have_no_latency(latency: float) -> None:
    assert made_up(latency) == pytest.approx(0, abs=1e-12)
