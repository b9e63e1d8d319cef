"""Adding up by Ray's object store, on a stand-in for Ray: the workers' sum is right in every round, by each way.

The seconds on a Ray that runs are measured in `tests/long`.
"""

from __future__ import annotations
