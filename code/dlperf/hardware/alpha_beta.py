"""A latency, and a time for every byte: the model is in `dlperf.alpha_beta`, which other chapters use too."""

from __future__ import annotations

from dlperf.alpha_beta import Line, check, fit

__all__ = ["Line", "check", "fit"]
