"""By which socket a worker reaches a server: one of the system where both are on one machine, TCP everywhere else."""

from __future__ import annotations

import sys

import pytest

from dlperf.kvstore import Config
from dlperf.kvstore.config import nearby

LOOPBACK, OUTSIDE = "127.0.0.1:5571", "10.0.0.2:5571"


def cluster(server: str, **options: str) -> Config:
    return Config(scheduler="127.0.0.1:5570", servers=(server,), workers=1, keys="keys", **options)


@pytest.mark.skipif(sys.platform != "linux", reason="names of sockets that are in no folder are Linux's")
def test_on_loopback_it_is_a_unix_socket_of_its_own():
    assert nearby(cluster(LOOPBACK), LOOPBACK) == "ipc://@dlperf.kvstore 127.0.0.1:5571"
    assert nearby(cluster(LOOPBACK), "127.0.0.1:5573") != nearby(cluster(LOOPBACK), LOOPBACK)


def test_elsewhere_and_where_it_is_told_so_it_is_tcp(monkeypatch: pytest.MonkeyPatch):
    assert nearby(cluster(OUTSIDE), OUTSIDE) is None
    assert nearby(cluster(LOOPBACK, nearby="tcp"), LOOPBACK) is None
    monkeypatch.setattr(sys, "platform", "darwin")
    assert nearby(cluster(LOOPBACK), LOOPBACK) is None
