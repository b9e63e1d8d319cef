"""Limits of clusters in which nobody is to be given up, however long a busy machine keeps somebody from its turn."""

from __future__ import annotations

LONG = {"lease": 500.0, "dead": 600.0}
"""Options of `dlperf.kvstore.Config`, in seconds: with its own, who has no turn for two is given up, and a server that
has not heard of the scheduler for one answers no reads. A test whose subject is that says how long it takes."""
