"""Export a server's counters and request times to Prometheus, and a timeline of its requests to Perfetto."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import Any

import msgspec
from prometheus_client import CollectorRegistry, Counter, Histogram, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from dlperf.kvstore.node import Node
from dlperf.kvstore.security import LARGEST

KEPT = 10_000
"""So many requests does the timeline remember."""


class Metrics:
    """Counts of a node; ``timeline`` has (begin, end, range, bytes) of the last requests of workers, in seconds."""

    def __init__(self, node: Node) -> None:
        self.node, self.unsent, self.disconnected = node, 0, 0
        self.registry = CollectorRegistry()
        self.timeline: deque[tuple[float, float, int, int]] = deque(maxlen=KEPT)
        self._bytes = Counter("kvstore_bytes", "Bytes received and sent", ["direction", "role"], registry=self.registry)
        self._received = self._bytes.labels("received", "worker")
        self._sent = {role: self._bytes.labels("sent", role) for role in ("worker", "server", "scheduler")}
        self._seconds = Histogram(
            "kvstore_request_seconds",
            "Seconds that a worker's request takes the server",
            ["range"],
            registry=self.registry,
            buckets=[1e-5 * 2**k for k in range(16)],
        )
        self.registry.register(_State(self))

    def served(self, begin: float, range_: int, frames: Sequence[Any]) -> None:
        """Counts a worker's request, which was taken at ``begin`` of `time.perf_counter`."""
        end, size = perf_counter(), sum(map(len, frames))
        self._received.inc(size)
        self._seconds.labels(range_).observe(end - begin)
        self.timeline.append((begin, end, range_, size))

    def sent(self, role: str, size: int) -> None:
        self._sent[role].inc(size)

    def trace(self) -> bytes:
        """Returns the timeline in the format that Perfetto and chrome://tracing show: a row for each range."""
        rows = [
            {
                "ph": "X",
                "pid": self.node.me,
                "tid": range_,
                "name": f"{size} bytes",
                "ts": begin * 1e6,
                "dur": (end - begin) * 1e6,
            }
            for begin, end, range_, size in self.timeline
        ]
        return msgspec.json.encode({"traceEvents": rows})

    def listen(self, port: int, host: str = "127.0.0.1") -> None:
        """Has Prometheus's text served on a port of an address of loopback, in a thread."""
        start_http_server(port, addr=host, registry=self.registry)


class _State:
    """What is looked up when it is asked for."""

    def __init__(self, metrics: Metrics) -> None:
        self.metrics = metrics

    def collect(self) -> Iterator[Any]:
        node = self.metrics.node
        yield GaugeMetricFamily("kvstore_epoch", "The epoch that the server knows", node.view.epoch)
        yield CounterMetricFamily("kvstore_unsent", "Messages that a full queue did not take", self.metrics.unsent)
        yield CounterMetricFamily(
            "kvstore_disconnected",
            f"Connections that ended: closed by the other end, or cut off for a frame above {LARGEST:,} bytes",
            self.metrics.disconnected,
        )
        refused = CounterMetricFamily("kvstore_refused", "Requests that were refused", labels=["reason"])
        for reason, count in dict(node.refused).items():
            refused.add_metric([reason], count)
        yield refused
        again = CounterMetricFamily(
            "kvstore_duplicates",
            "Operations of workers that came again and did not count twice",
            labels=["operation"],
        )
        for kind, count in node.duplicates.items():
            again.add_metric([kind], count)
        yield again
        index = GaugeMetricFamily("kvstore_operations", "Operations of a range that this server has", labels=["range"])
        queue = GaugeMetricFamily("kvstore_unacknowledged", "Operations that the next server lacks", labels=["range"])
        waiting = GaugeMetricFamily("kvstore_waiting", "Workers that wait for others", labels=["range"])
        for replica in node.replicas:
            if replica.range is not None:
                name = [str(replica.number)]
                index.add_metric(name, replica.range.index)
                queue.add_metric(name, len(replica.log))
                waiting.add_metric(name, len(replica.waiting))
        yield from (index, queue, waiting)
