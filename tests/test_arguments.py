"""Arguments that make no sense: an error says which value was wrong and what would be right, and nothing crashes."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pytest
import torch

from dlperf import breakdown, counters, profiles, spans, turns
from dlperf.asynchrony import backlog, data_loading
from dlperf.compilers import compilation, dispatch
from dlperf.hardware import access_patterns, alpha_beta, false_sharing, pointer_chase
from dlperf.measuring import distribution, laws, pitfalls
from dlperf.parallel import compute_and_copy, overlap, saturation, schedule

CPU = torch.device("cpu")
ONE = {0: schedule.Task(1.0)}
WORDS = np.zeros(64, np.uint64)
nothing: Callable[..., Any] = lambda *_: None

REFUSED: Iterable[tuple[Callable[[], object], str]] = [
    (lambda: schedule.graph(), "one run or several, got none"),
    (lambda: schedule.list_schedule(ONE, 0), "at least one worker, got 0"),
    (lambda: schedule.longest_first(ONE, -1), "at least one worker, got -1"),
    (lambda: schedule.lower_bound(ONE, 0), "at least one worker, got 0"),
    (lambda: schedule.upper_bound(ONE, -2), "at least one worker, got -2"),
    (lambda: turns.InterleavedSamples([1.0]).per_call("", 0, {}), "at least one call, got 0"),
    (lambda: turns.middle([], float), "of no answers"),
    (lambda: spans.extent([]), "without a span"),
    (lambda: profiles.typical([]), "of no answers"),
    (lambda: breakdown.parts([]), "without a span"),
    (lambda: compute_and_copy.typical([]), "of no answers"),
    (
        lambda: compute_and_copy.measured(turns.InterleavedSamples(), "speed"),
        "seconds, overlap, hidden, pages, not its speed",
    ),
    (lambda: backlog.middle([]), "of no answers"),
    (lambda: backlog.taken(turns.InterleavedSamples(), "speed"), "returned, finished, process, live, not its speed"),
    (lambda: counters.page_faults(nothing, 0), "at least one call, got 0"),
    (lambda: laws.amdahl(0.1, 0), "worth more than none; got 0.1 and 0"),
    (lambda: laws.amdahl(-1, 2), "between 0 and 1.*got -1 and 2"),
    (lambda: laws.gustafson(2, 2), "between 0 and 1.*got 2 and 2"),
    (lambda: laws.effective_workers(2, []), r"got 2 on \[\]"),
    (lambda: laws.effective_workers(0, [1.0]), "got 0 on"),
    (lambda: laws.watch_queue(0, 0.001, 3), "needs arrivals: got 3 at 0 per second"),
    (lambda: laws.watch_queue(1000, 0.001, 0), "needs arrivals: got 0 at 1000"),
    (lambda: laws.watch_queue(1000, -0.001, 2), "served for -0.001 s"),
    (lambda: distribution.in_a_row([1, 2], 3), "of 2 samples, 1 to 2 stand in a row, not 3"),
    (lambda: distribution.same_against_same([1, 2], 0), "not 0"),
    (lambda: pitfalls.first_and_warm([[1.0, 2.0]], warm_up=2), "more than the 2 calls.*got 2"),
    (lambda: dispatch.crossover({}), "0 sizes"),
    (lambda: dispatch.add_in_cpp(8, 0, CPU), "at least one call, got 0"),
    (lambda: dispatch.add_in_python(8, 0, CPU), "at least one call, got 0"),
    (lambda: compilation.in_blocks({"a": torch.sin}, torch.ones(1), calls=0), "at least one call, got 0"),
    (lambda: data_loading.seconds_per_item([torch.ones(1)] * 3, nothing, skip=2, last=1), "more items than the 3"),
    (lambda: overlap.predict(1.0, 1.0, 0), "at least one chunk, got 0"),
    (lambda: overlap.Product(rows=5, chunks=2), "5 rows cannot be cut into 2"),
    (lambda: overlap.Product(chunks=0), "into 0 equal chunks"),
    (lambda: saturation.amount(0, 1, 0.1), "got n=0, workers=1"),
    (lambda: saturation.amount(4, 0, 0.1), "got n=4, workers=0"),
    (lambda: saturation.split_cost(0), "one thread or more, got 0"),
    (lambda: saturation.stays_below(1, [], []), "at least one size"),
    (lambda: access_patterns.strides(WORDS, [8, 4]), r"multiple of 8 bytes.*got \[4\]"),
    (lambda: access_patterns.strides(WORDS, [1024]), r"no longer than the 512.*got \[1024\]"),
    (lambda: pointer_chase.latency(WORDS[:0]), r"got 64 in \[0\]"),
    (lambda: pointer_chase.latency(WORDS, 4), r"got 4 in \[512\]"),
    (lambda: false_sharing.increments([2**16], 1 + 1), "2 counters.*in 65536 bytes"),
    (lambda: false_sharing.increments([4], 1), "whole words apart"),
    (lambda: alpha_beta.fit([1, 1], [1, 2]), "no line"),
    (lambda: alpha_beta.fit([0, 1, 2], [0, 1, 2]), "some time, not 0 s"),
]


@pytest.mark.parametrize(("call", "said"), REFUSED, ids=[said for _, said in REFUSED])
def test_what_makes_no_sense_is_refused(call: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()


def test_trials_run_on_the_cpu_unless_told_otherwise() -> None:
    """As `train` does, whose options they take."""
    threads = torch.get_num_threads()
    try:
        found = backlog.trials([2], repeats=1, widths=(8,), number=2)
    finally:
        torch.set_num_threads(threads)
        gc.unfreeze()
    assert found.keys() == {"synchronous", "depth 2"}
