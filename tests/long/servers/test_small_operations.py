"""How many small pushes one server takes in a second. The rates are printed, and what its Python is busy with."""

from __future__ import annotations

from dlperf.servers import small_operations


def test_a_server_has_a_rate_for_every_way_and_size() -> None:
    for (way, size), cost in small_operations.measured().items():
        print(f"{size} bytes, {way}: {cost.rate}; at most {cost.most}; busy {cost.busy}")
        assert cost.rate.median > 0
