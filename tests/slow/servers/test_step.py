"""A step whose weights servers hold is the step with an all-reduce."""

from __future__ import annotations

import msgspec
import pytest

from dlperf.kvstore import local
from dlperf.models import gpt
from dlperf.multigpu.group import Group
from dlperf.servers import step
from dlperf.servers.step import Task


@pytest.mark.parametrize("servers", [1, 2])
def test_weights_are_the_same_to_rounding(servers: int) -> None:
    config = local.config(servers, 2)
    task = Task("GPT", 4, gpt.Size(vocabulary=100, context=16, layers=2, heads=2, width=32))
    with Group(2) as group, local.Cluster(config):
        found = group.run(step.both, msgspec.json.encode(config), task, 3)
    for each in found:
        assert each["apart"] < 1e-5
        assert len(each["servers"]) == len(each["all-reduce"]) == 3
