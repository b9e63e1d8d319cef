"""The drawings of the chapter on parameter servers; `tests.test_every_drawing` looks at all of them."""

from __future__ import annotations

from dlperf.servers import drawings, drawings_live, drawings_store

EVERY = {
    "ring_steps": drawings.ring_steps,
    "chain": drawings_store.chain,
    "split_brain": drawings_live.split_brain,
}


def test_the_ring_that_is_drawn_ends_with_all_of_everything() -> None:
    states = drawings._states(4)
    assert len(states) == 7
    assert states[0] == [[1] * 4] * 4
    assert all(row.count(4) == 1 for row in states[3])  # after the reduce-scatter, one complete share each
    assert states[-1] == [[4] * 4] * 4
