"""Slow training programs as people report them, each with one planted fault, for the page on slow training.

Each module is one report: its docstring says what the fault is, and then what a user saw who does not know it. They
are written from how such programs look, without regard to how the page's cells measure, so that a test may paste
those cells into each. A module has

- ``LEAF``: the kind of slowness at which a diagnosis should arrive, one of `LEAVES`;
- ``TIMED``: whether the fault shows in measured seconds only. Else it can be counted, and ``shows(names)`` does that;
- ``RANKS``: how many processes run the program, each after `torch.distributed.init_process_group`; left out for one;
- ``program(fault=True)``: the names of the program as a user has them at hand: ``torch``, ``model``, ``device``,
  ``optimizer``, ``batch`` (a mini-batch as the loader gives it), ``step(batch=batch)`` (forward, backward, update;
  returns the loss) and ``loader``; where the program needs them ``epoch()`` (a complete epoch as the user wrote it;
  else it is ``for batch in loader: step(batch)``) and ``switches`` (callables without and with what was switched on).
  ``program(fault=False)`` is the same program with its remedy.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

LEAVES = (
    "slow-first",
    "slow-border",
    "slow-nth",
    "slow-later",
    "slow-switched",
    "slow-data",
    "slow-host",
    "slow-copies",
    "slow-compiler",
    "slow-threads",
    "slow-ranks",
    "slow-waste",
    "slow-grows",
    "slow-number",
)
NAMES = (
    "table_filled_in_python",
    "workers_open_the_archive_anew",
    "metric_over_all_pairs",
    "workers_too_slow",
    "loss_estimated_too_often",
    "history_smoothed_again",
    "mining_after_warm_up",
    "anomaly_detection_left_on",
    "workers_for_a_table_in_memory",
    "archive_unpacked_for_each_sample",
    "one_graph_after_another",
    "average_of_weights_in_a_loop",
    "gradients_read_one_by_one",
    "compiled_for_each_length",
    "counter_in_the_compiled_model",
    "threads_of_the_whole_host",
    "threads_in_each_worker",
    "sent_after_every_part",
    "rank_zero_writes_the_report",
    "padded_to_the_maximum",
    "float64_in_the_loss",
    "gradient_for_every_word",
    "metric_kept_with_its_graph",
    "running_mean_with_its_graph",
    "samples_kept_by_the_data_set",
    "rate_since_the_start",
)


def reports() -> list[ModuleType]:
    """Returns the modules of all reports, in the order of their leaves."""
    return [import_module(f"{__name__}.{name}") for name in NAMES]


def graphs_compiled(names: dict[str, Any], turns: int = 4) -> int:
    """Returns how many graphs the compiler makes in the first turns of a program."""
    from torch._dynamo.utils import counters

    before = counters["stats"]["unique_graphs"]
    for batch, _ in zip(names["loader"], range(turns), strict=False):
        names["step"](batch)
    return int(counters["stats"]["unique_graphs"] - before)
