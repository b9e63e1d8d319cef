"""The drawing and the figure of the section on the batch: readable, and drawn whatever was found."""

import pytest

from booktools.show.catalogue import Catalogue
from dlperf.measurement import Measurement
from dlperf.multigpu import drawings_batch as drawings
from dlperf.records import svg
from tests.drawn import faults

EVERY = {"batch_steps": drawings.steps}


def test_a_drawing_follows_its_arguments():
    assert faults(drawings.steps(), Catalogue(None)) == []
    other = drawings.steps(devices=(1, 2, 8))
    assert svg(other) != svg(drawings.steps())
    assert faults(other, Catalogue(None)) == []


def rules(loss):
    keys = (f"rate-{schedule}-{batch}" for schedule in ("kept", "scaled", "warmup") for batch in (8, 512))
    return {key: Measurement((loss, loss + 0.1), "1") for key in keys} | {
        "rate-kept-lost-8": 0.0,
        "rate-kept-breaks": 8,
    }


@pytest.mark.parametrize("critical", [0.0, 80.0, 1e9])
@pytest.mark.parametrize("steps", [(1, 1), (4000, 4000), (900, 40)])
def test_whatever_was_found_is_drawn(critical, steps):
    found = {f"batch-steps-{b}": Measurement((s,) * 3, "1") for b, s in zip((4, 256), steps, strict=True)}
    found |= {"batch-critical": critical, "batch-least": 30.0, "batch-noise": critical, "batch-steps-odd": 1.0}
    made = svg(drawings.found(found, rules(2.5)))
    assert all(label in made for label in ("scaled, warm-up", "predicted from the noise", "test loss"))


def test_a_series_is_what_is_numbered_behind_its_prefix():
    batches, losses = drawings.series(rules(2.0), "rate-kept-")
    assert batches == [8, 512]
    assert [loss.median for loss in losses] == [2.05, 2.05]
