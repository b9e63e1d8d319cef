"""What hosts send in each way to split, counted at their links."""

import pytest

from dlperf import network
from dlperf.multigpu import split_costs, split_trials, traffic
from dlperf.multigpu.group import Crew
from dlperf.multigpu.splits import Sizes
from tests.multigpu.summing import sent
from tests.processes import DEADLINE_S

pytestmark = pytest.mark.skipif(bool(network.unavailable()), reason="there can be no network namespaces here")


def test_hosts_send_what_the_formulas_say():
    with network.Network(2) as hosts:
        hosts.run(network.process_group, 2, timeout=DEADLINE_S)
        crew = Crew(lambda fn, *args: hosts.run(fn, 2, *args, timeout=DEADLINE_S), "host")
        for case in split_trials.two_layers(Sizes(rows=128, width=1024, hidden=256), (1, 4)):
            before = crew.run(sent)
            counted = split_trials.compare(crew, [case], repeats=1)[f"{case.key}-bytes"]
            beside = max(now.since(then).beside for now, then in zip(crew.run(sent), before, strict=True))
            predicted = traffic.on_wire(split_costs.predicted_bytes(case))
            assert 0.97 * predicted <= counted.median <= 1.01 * predicted + beside, case.key
