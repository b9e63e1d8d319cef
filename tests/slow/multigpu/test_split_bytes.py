"""What hosts send in each way to split, counted at their links."""

import pytest

from dlperf import network
from dlperf.multigpu import split_trials
from dlperf.multigpu.group import Crew
from dlperf.multigpu.splits import Sizes
from tests.processes import DEADLINE_S

pytestmark = pytest.mark.skipif(bool(network.unavailable()), reason="there can be no network namespaces here")


def test_hosts_send_what_the_formulas_say():
    cases = split_trials.two_layers(Sizes(rows=128, width=1024, hidden=256), (1, 4))
    with network.Network(2) as hosts:
        hosts.run(network.process_group, 2, timeout=DEADLINE_S)
        crew = Crew(lambda fn, *args: hosts.run(fn, 2, *args, timeout=DEADLINE_S), "host")
        found = split_trials.compare(crew, cases, repeats=2)
    for case in cases:
        assert found[f"{case.key}-bytes-ratio"].median == pytest.approx(1, rel=0.03), case.key
