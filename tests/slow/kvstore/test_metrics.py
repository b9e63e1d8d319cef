"""What a server tells Prometheus."""

from __future__ import annotations

import json
import socket
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
import torch
from prometheus_client.parser import text_string_to_metric_families

from dlperf.kvstore import Refused, client, connect, local, security, wire
from dlperf.kvstore.client import FROM_SERVER
from tests.kvstore.limits import LONG
from tests.processes import DEADLINE_S, wait_until


def told(port: int) -> dict[tuple[str, str], float]:
    """Returns the samples that a server tells, by name and by the values of its labels."""
    with urlopen(f"http://{local.loopback()}:{port}/metrics") as answer:
        families = text_string_to_metric_families(answer.read().decode())
        return {(s.name, " ".join(s.labels.values())): s.value for family in families for s in family.samples}


def test_bytes_times_queues_and_refusals_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        client, "Ticket", partial(client.Ticket, again=1e3)
    )  # an answer may be late: nothing goes twice
    config = local.config(1, 1, **LONG)
    with local.Cluster(config, metrics=True) as cluster, connect(config, 0) as store:
        value = torch.zeros(1_000_000)
        store.create("k", value)
        with pytest.raises(Refused):
            store.create("k", torch.zeros(3))
        before = told(cluster.metrics[0])
        store.push("k", value)
        pushed = told(cluster.metrics[0])
        store.pull("k")
        pulled = told(cluster.metrics[0])
    received, sent = ("kvstore_bytes_total", "received worker"), ("kvstore_bytes_total", "sent worker")
    assert 4_000_000 < pushed[received] - before[received] < 4_010_000
    assert 4_000_000 < pulled[sent] - pushed[sent] < 4_010_000
    parts = pushed["kvstore_operations", "0"] - before["kvstore_operations", "0"]
    assert parts == 4
    assert pushed["kvstore_request_seconds_count", "0"] - before["kvstore_request_seconds_count", "0"] == parts
    assert before["kvstore_refused_total", "other shape"] == 1
    assert before["kvstore_epoch", ""] >= 1
    assert before["kvstore_waiting", "0"] == before["kvstore_unacknowledged", "0"] == 0


def test_the_timeline_is_written_when_the_server_stops(tmp_path: Path) -> None:
    config = local.config(1, 1, **LONG)
    with local.Cluster(config, more=("--timeline", str(tmp_path / "trace.json"))) as cluster:
        with connect(config, 0) as store:
            store.create("k", torch.zeros(1000))
            store.push("k", torch.zeros(1000))
        assert cluster.stop(0) == 0
    rows = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert len({row["name"] for row in rows}) == 3  # who connects asks how many rounds it has ended; again, if it waits
    assert all(row["dur"] > 0 and row["tid"] == 0 and row["name"].endswith(" bytes") for row in rows)
    assert rows[0]["ts"] + rows[0]["dur"] <= rows[1]["ts"]


def test_a_push_whose_acknowledgement_was_lost_is_counted_as_one_that_came_again() -> None:
    """The server has it, and the worker, which never hears of that, sends it again."""
    config = local.config(1, 1, staleness=None, nearby="tcp", **LONG)
    with local.Cluster(config, metrics=True) as cluster, connect(config, 0) as store:
        store.create("k", torch.zeros(3))
        store.push("k", torch.ones(3))
        lost: list[bytes] = []
        receive = store._client.receive

        def lose(frames: Any, now: float) -> None:
            if not lost and isinstance(wire.decode(frames[0], FROM_SERVER), wire.Done):
                lost.append(bytes(frames[0]))
                return
            receive(frames, now)

        before = told(cluster.metrics[0])["kvstore_duplicates_total", "push"]
        store._client.receive = lose  # type: ignore[method-assign]
        store.push("k", torch.ones(3))
        after = told(cluster.metrics[0])["kvstore_duplicates_total", "push"]
        assert len(lost) == 1
        assert after > before
        assert store.pull("k").tolist() == [2, 2, 2]


def test_who_sends_a_frame_that_is_too_large_is_cut_off_before_its_bytes_come_and_is_counted() -> None:
    """A stranger announces one byte more than may be sent, by the protocol of ZeroMQ (RFC 23), and sends none."""
    config = local.config(1, 1, lease=500.0, dead=600.0, nearby="tcp")
    ended = "kvstore_disconnected_total", ""
    with local.Cluster(config, metrics=True) as cluster, connect(config, 0) as store:
        store.create("k", torch.arange(3.0))
        assert told(cluster.metrics[0])[ended] == 0
        host, _, port = config.servers[0].rpartition(":")
        with socket.create_connection((host, int(port)), timeout=DEADLINE_S) as stranger:
            stranger.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32))
            ready = b"\x05READY\x0bSocket-Type" + (6).to_bytes(4, "big") + b"DEALER"
            stranger.sendall(b"\x04" + bytes([len(ready)]) + ready)
            stranger.sendall(b"\x02" + (security.LARGEST + 1).to_bytes(8, "big"))
            while stranger.recv(1000):  # until the server has closed it
                pass
        assert wait_until(lambda: told(cluster.metrics[0])[ended] == 1)
        assert store.pull("k").tolist() == [0, 1, 2]
