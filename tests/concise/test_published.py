"""Published rows: well-formed, of the sizes that the paper prints, and predicted without having been seen."""

from __future__ import annotations

import pytest

from dlperf.concise import at_scale, published
from dlperf.concise.published import GIVEN, GPT3_IN_STAGES, GPT3_SHARDED, IN_STAGES, UNSEEN

ROWS = (GIVEN, *UNSEEN)
TABLE_1 = (GIVEN, *published.BY_TENSOR, *IN_STAGES)


@pytest.mark.parametrize("run", ROWS, ids=lambda run: f"{run.way}-{run.gpus}-{run.tflops}")
def test_rows_are_well_formed(run: published.Run) -> None:
    assert run.way in at_scale.WAYS
    assert run.gpus % 8 == 0  # whole nodes
    assert run.gpus % run.tensor == 0
    assert run.tensor > 1 or run.way != "tensor × data"
    assert 0 < run.tflops < 312  # the peak of an A100
    assert run.seconds * run.gpus * run.tflops * 1e12 == pytest.approx(run.model.flops(run.sequences))


def test_the_given_row_is_none_of_those_to_predict() -> None:
    assert GIVEN not in UNSEEN
    assert len(set(UNSEEN)) == len(UNSEEN) == 15


def test_sizes_are_those_of_the_paper() -> None:
    billions = (1.7, 3.6, 7.5, 18.4, 39.1, 76.1, 145.6, 310.1, 529.6, 1008.0)
    assert tuple(round(run.model.parameters / 1e9, 1) for run in TABLE_1) == billions
    assert round(published.GPT3.parameters / 1e9, 1) == 174.6


def test_days_are_near_those_of_the_paper() -> None:
    """90, 74 and 74 days for 300 billion tokens (table 2)."""
    tokens = 300e9 / (1536 * 2048)
    days = [tokens * run.seconds / 86_400 for run in GPT3_SHARDED]
    assert days == pytest.approx([90, 74, 74], rel=0.02)


def test_the_given_row_is_met_because_its_gradients_hide() -> None:
    cluster = published.a100(GIVEN.tflops * 1e12)
    assert published.fits(cluster, [GIVEN]) == pytest.approx([1])
    step = GIVEN.predict(cluster)
    assert 0 < step.beside < step.compute


def test_predictions_follow_each_rows_way() -> None:
    cluster = published.a100(1e14)
    sharded, staged = GPT3_SHARDED[0], GPT3_IN_STAGES[0]
    assert sharded.predict(cluster) == at_scale.sharded(published.GPT3, cluster, 384, 1536)
    assert staged.predict(cluster) == at_scale.tensor_data(published.GPT3, cluster, 384, 1536, 8)
    assert published.BY_TENSOR[0].predict(cluster) == at_scale.tensor_data(
        published.BY_TENSOR[0].model, cluster, 64, 512, 2
    )


def test_without_sending_only_the_rates_differ() -> None:
    found = published.fits_of_computing(published.a100(100e12))
    assert found == pytest.approx([run.tflops / 100 for run in UNSEEN])
    assert all(a <= b for a, b in zip(found, published.fits(published.a100(100e12)), strict=True))


def test_what_the_page_says_of_computing_alone() -> None:
    """Sending brings fewer rows within the limit, takes each row of tensor × data farther away, and one row nearer."""
    cluster = published.a100(GIVEN.tflops * 1e12)
    with_sending, alone = (
        [abs(fit - 1) for fit in fits(cluster)] for fits in (published.fits, published.fits_of_computing)
    )
    assert sum(off < 0.15 for off in alone) > sum(off < 0.15 for off in with_sending)
    by_tensor = [run.way == "tensor × data" for run in UNSEEN]
    assert all(off > free for off, free, tensor in zip(with_sending, alone, by_tensor, strict=True) if tensor)
    nearer = [run.gpus for run, off, free in zip(UNSEEN, with_sending, alone, strict=True) if off < free / 1.5]
    assert nearer == [1536]
