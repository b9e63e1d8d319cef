"""What hosts send in each way to split, counted at their links."""

import pytest

from dlperf import network
from dlperf.multigpu import split_costs, split_trials, traffic
from dlperf.multigpu.group import Crew
from dlperf.multigpu.splits import Sizes
from tests.multigpu.summing import FRAME, segments_sent_again
from tests.processes import DEADLINE_S

pytestmark = pytest.mark.skipif(bool(network.unavailable()), reason="there can be no network namespaces here")


def test_hosts_send_what_the_formulas_say():
    cases = split_trials.two_layers(Sizes(rows=128, width=1024, hidden=256), (1, 4))
    with network.Network(2) as hosts:
        hosts.run(network.process_group, 2, timeout=DEADLINE_S)
        crew = Crew(lambda fn, *args: hosts.run(fn, 2, *args, timeout=DEADLINE_S), "host")
        before = crew.run(segments_sent_again)
        found = split_trials.compare(crew, cases, repeats=2)
        again = FRAME * max(now - then for now, then in zip(crew.run(segments_sent_again), before, strict=True))
    for case in cases:
        counted = found[f"{case.key}-bytes"]
        predicted = traffic.on_wire(split_costs.predicted_bytes(case))
        assert 0.97 * predicted <= counted.median <= 1.03 * predicted + again, case.key
