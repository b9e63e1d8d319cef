"""The latency of messages in quick succession, from seconds that a made-up link takes."""

from __future__ import annotations

from itertools import cycle

import pytest

from dlperf.measurement import Measurement
from dlperf.multigpu import link
from dlperf.multigpu.group import Crew

TWO = Crew(lambda fn, *args: [0.0, 0.0], "host")


def made_up(latency: float) -> Measurement:
    """Returns the latency that is found where each message adds so many seconds, on a link whose rate drifts."""
    drift = cycle((0.04, 0.04, 0.9, 0.9, 0.05, 0.05))  # both of a turn alike
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(link, "_begun_at_once", lambda pair, number: next(drift) + 2 * number * latency)
        return link.in_succession(TWO, repeats=6)


@pytest.mark.parametrize("latency", [2e-4, 0.0, -1e-3])
def test_what_is_longer_in_more_parts_is_shared_among_the_messages_that_are_more(latency: float) -> None:
    assert made_up(latency).samples == pytest.approx([latency] * 6)
    assert made_up(latency).unit == "s"


def test_a_tensor_is_compared_with_itself_in_more_parts_and_not_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(link, "_begun_at_once", lambda pair, number: asked.append(number) or 1.0)
    link.in_succession(TWO, repeats=1)
    assert set(asked) == {16, 64}
