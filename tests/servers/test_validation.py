"""The check of the simulation: what was simulated is found again, and a wrong constant shows."""

from __future__ import annotations

import pytest

from dlperf.measurement import Measurement
from dlperf.servers import validation
from dlperf.servers.aggregation_trials import Trial
from dlperf.servers.events import Cluster

MIB = 2**20
SIZES = [2**12, 2**16, MIB, 4 * MIB]
TRUE = Cluster(rate=1.2e8, alpha=2e-4, per_message=3e-5, per_byte=4e-10)


def seconds(value: float) -> Measurement:
    return Measurement((value, 0.9 * value, 1.1 * value), "s")


def made_up(hosts: int, way: str, sizes=SIZES, cluster: Cluster = TRUE) -> list[validation.Point]:
    """Returns points of a cluster that is as the simulation has it."""
    taken = {(way, size): seconds(validation.COLLECTIVES[way](cluster, hosts, size)) for size in sizes}
    return validation.of_collectives(hosts, taken)


def unseen(cluster: Cluster = TRUE) -> list[validation.Point]:
    ways = set(validation.COLLECTIVES) - {"step", "ring", "one device"}
    return [point for way in sorted(ways) for hosts in (3, 4) for point in made_up(hosts, way, cluster=cluster)]


KNOWN = made_up(4, "step") + made_up(4, "ring") + made_up(4, "sharded", SIZES[:2])
UNSEEN = [point for point in unseen() if point.name not in {known.name for known in KNOWN}]


def test_a_right_simulation_is_nothing_off():
    found = validation.check(KNOWN, UNSEEN)
    assert found.error == pytest.approx(0, abs=1e-6)
    assert max(abs(row.error) for row in (*found.known, *found.unseen)) < 1e-5
    assert found.cluster.rate == pytest.approx(TRUE.rate)
    assert found.cluster.per_byte == pytest.approx(TRUE.per_byte, rel=1e-4)
    assert [row.name for row in found.unseen] == [point.name for point in UNSEEN]


def test_links_of_half_the_rate_show():
    slow = Cluster(TRUE.rate / 2, TRUE.alpha, TRUE.per_message, TRUE.per_byte)
    long = [point for point in unseen(slow) if f"{4 * MIB} bytes" in point.name]
    found = validation.check(KNOWN, long)
    assert -0.55 < -found.error < -0.45
    assert all(row.error < -0.4 for row in found.unseen)
    assert validation.typical(found.known) < 1e-5


def test_a_missing_constant_shows():
    found = validation.check(KNOWN, UNSEEN, costs=("alpha", "beta"))
    assert found.cluster.per_byte == found.cluster.per_message == 0
    assert found.error > 1e-3 > validation.check(KNOWN, UNSEEN).error


def test_no_constant_is_negative_though_points_ask_for_it():
    taken = {("step", 1000): seconds(1.0), ("step", 2000): seconds(2.1)}  # a line through them is below 0 at 0
    found = validation.fit(validation.of_collectives(2, taken))
    assert found.alpha == found.per_message == 0
    assert 1 / found.rate == pytest.approx(1e-3, rel=0.06)


def test_shapes_and_stores_become_points():
    line = Cluster(rate=100.0, alpha=1.0)
    trial = Trial(4, 200, {"one device": seconds(1.0), "CPU": seconds(1.0), "sharded": seconds(1.0)}, {}, {})
    told = {point.name: point.predict(line) for point in validation.of_shapes(trial)}
    assert told == {
        "one device, 4 devices, 200 bytes": pytest.approx(2 * (1 + 3 * 2)),
        "CPU, 4 devices, 200 bytes": pytest.approx(2 * (1 + 4 * 2)),
        "sharded, 4 devices, 200 bytes": pytest.approx(2 * (1 + 3 * 0.5)),
    }
    store = validation.of_store(2, 4, 200, {"both": seconds(3.0), "push": seconds(1.0)})
    assert store.name == "the store, 2 servers, 4 workers, 200 bytes"
    assert store.measured.median == 3.0
    assert store.predict(line) == pytest.approx(2 * (1 + 4))


@pytest.mark.parametrize("hosts", [2, 3, 4, 6, 8])
def test_halving_and_doubling_is_its_formula(hosts):
    from dlperf.alpha_beta import Line
    from dlperf.servers import collective_costs

    for way in ("ring", "halving-doubling"):
        told = validation.COLLECTIVES[way](Cluster(rate=100.0, alpha=1.0), hosts, 240)
        assert told == pytest.approx(collective_costs.seconds(way, hosts, 240, Line(1.0, 0.01)))


def test_the_library_is_no_point():
    assert validation.of_collectives(4, {("library", 8): seconds(1.0)}) == []


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="on both sides: ring, 4 hosts, 4096 bytes"):
        validation.check(KNOWN, made_up(4, "ring", [4096]))
    with pytest.raises(ValueError, match="got 0 known and 1 unseen"):
        validation.check([], UNSEEN[:1])
    with pytest.raises(ValueError, match="costs are alpha, beta, per_message, per_byte, got gamma"):
        validation.fit(KNOWN, costs=("gamma",))
    with pytest.raises(ValueError, match="beta is one of the costs; got alpha"):
        validation.fit(KNOWN, costs=("alpha",))
    with pytest.raises(ValueError, match="none of them sends a byte"):
        validation.fit(validation.of_collectives(2, {("step", 0): seconds(1.0)}))
