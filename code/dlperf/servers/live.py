"""Faults live: servers, a worker and a link fail in the middle of a training, and all that was acknowledged is there.

What each fault costs is a time without acknowledged pushes, which follows from the cluster's configuration: `silence`.
The chapter *Parameter servers* tells the story.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import msgspec

from dlperf.kvstore import client, local, security
from dlperf.network import Network
from dlperf.servers import goodput, hosts, live_worker
from dlperf.servers.live_training import SERVERS, WAIT, WORKERS, Processes, Training, has_copies, wait
from dlperf.servers.timeline import Answer, Timeline
from dlperf.servers.witness import Witness, duplicates, epoch, refused

BEAT = 0.2
"""So many seconds pass between two words of a server or worker to the scheduler."""
CALM = 0.5
"""So many seconds does training go on undisturbed, before harm is done and after it is over."""
CUT = 5.0
"""So many seconds is a link cut, unless told."""


def options(dead: float) -> dict[str, Any]:
    """Returns those of a cluster that gives up who has been silent for ``dead`` s.

    Each range is on two servers, and rounds go on without a worker that is lost.
    """
    return {"copies": 2, "on_lost": "drop", "beat": BEAT, "dead": dead, "lease": dead / 2}


def silence(dead: float) -> tuple[float, float]:
    """Returns the least and the most seconds without an acknowledged push when a server or worker fails.

    The scheduler gives up who has been silent for ``dead`` s, of which up to `BEAT` may have passed before the fault.
    It tells all at once. A request that a server was not ready for is sent again after ``AGAIN`` s at most.
    """
    return dead - BEAT, dead + client.AGAIN


def astray(line: Timeline, dead: float) -> float:
    """Returns how many seconds an outage lies outside of what `silence` says, of that which is furthest; 0 if none."""
    least, most = silence(dead)
    return max(max(least - outage, outage - most, 0.0) for outage in line.outages)


def on_this_machine(dead: float) -> Timeline:
    """Returns what workers lived through: a server is killed, another is paused, a worker is killed; all come back."""
    config = local.config(SERVERS, WORKERS, **options(dead))
    with local.Cluster(config, metrics=True) as cluster, Processes(cluster) as training:
        time.sleep(CALM)
        kill_server(training, 1)
        pause_server(training, 2)
        kill_worker(training, 1)
        training.join()
        again = sum(map(duplicates, cluster.metrics))
        return replace(training.timeline(live_worker.last_sums(cluster.file.read_bytes())), again=again)


def kill_server(training: Processes, server: int) -> None:
    """Kills a server, and starts it again when the others have gone on without it."""
    who = f"server {server}"
    training.harm("kill", who, training.cluster.kill, server)
    wait(lambda: given_up(training, server))
    go_on(training, 0)
    training.harm("start", who, training.cluster.start, server)
    wait(lambda: epoch(training.cluster.metrics[server]) > 0)  # it belongs to the cluster again
    wait(lambda: training.view().epoch >= epoch(training.cluster.metrics[server]) and has_copies(training))
    time.sleep(CALM)


def pause_server(training: Processes, server: int) -> None:
    """Stops a server for longer than it takes to be given up: it comes back, and still believes that it serves.

    A witness asks it for a layer beforehand, while it is stopped, and when it has come back, in the same old epoch.
    Another server takes its place if just then it is the tail of no range, and so read from by nobody.
    """
    cluster = training.cluster
    with reader(training, server) as (witness, answer):
        server, who = witness.server, f"server {witness.server}"
        training.answers.append(answer)
        training.refused.append(refused(cluster.metrics[server]))
        training.harm("pause", who, cluster.pause, server)
        witness.send()
        wait(lambda: given_up(training, server))
        go_on(training, 0)
        time.sleep(CALM)
        training.harm("resume", who, cluster.resume, server)
        training.answers.append(witness.hear())
        wait(lambda: epoch(cluster.metrics[server]) > witness.epoch)  # it belongs to the cluster again
        training.answers.append(witness.ask())
        training.refused.append(refused(cluster.metrics[server]))
    time.sleep(CALM)


@contextmanager
def reader(training: Processes, server: int) -> Iterator[tuple[Witness, Answer]]:
    """Yields a witness of a server that answers it, and the value that it has just read: or a refusal would say little.

    While others are given up, chains change, and a server may be the tail of none: then it is one of another.
    """
    with ExitStack() as stack:
        found: list[tuple[Witness, Answer]] = []

        def answers() -> bool:
            view = training.view()
            tails = [chain[-1] for chain in view.chains if chain]
            witness = Witness(training.cluster.config, server if server in tails else tails[0], view)
            found.append((stack.enter_context(witness), witness.ask()))
            return found[-1][1].reason == "value"

        wait(answers)
        yield found[-1]


def kill_worker(training: Processes, worker: int) -> None:
    """Kills a worker, for which rounds wait until it is dropped, and starts it again."""
    who = f"worker {worker}"
    killed = training.harm("kill", who, training.kill, worker)
    wait(lambda: any(worker in seen.dropped for seen in training.seen() if seen.moment > killed))
    go_on(training, 1 - worker)
    back = training.harm("start", who, training.start, worker)
    wait(lambda: training.acknowledged(worker, back) > 3)
    time.sleep(CALM)


def given_up(training: Training, server: int) -> bool:
    """Returns whether a server holds nothing, by the latest view that a worker has."""
    return not any(server in chain for chain in training.view().chains)


def go_on(training: Training, worker: int) -> None:
    """Returns when a push of a worker has been acknowledged from now on."""
    now = time.monotonic()
    wait(lambda: training.is_acknowledged(worker, now))


def in_a_network(dead: float, harm: Callable[[Training, Network], None] | None = None) -> Timeline:
    """Returns what workers lived through on the hosts of a network; the ``harm`` is `cut_server`, unless told.

    Raises `dlperf.network.Unavailable` where there can be no network.
    """
    with Training() as training, Network(SERVERS + WORKERS) as network, ThreadPoolExecutor(1) as thread:
        keys = security.make_keys(training.folder / "keys")
        told = msgspec.json.encode(goodput.config(SERVERS, WORKERS, str(keys), **options(dead)))
        network.run(hosts.start, told, timeout=WAIT)
        train = pickle.dumps(partial(live_worker.train, told, folder=str(training.folder)))
        running = thread.submit(network.run, hosts.as_workers, SERVERS, train, timeout=2 * WAIT)
        training.failed = running.done
        try:
            wait(lambda: training.failed() or all(map(training.is_acknowledged, range(WORKERS))))
            if not training.failed():
                time.sleep(CALM)
                (harm or cut_server)(training, network)
                time.sleep(CALM)
        except Exception:
            if training.failed():  # what went wrong first
                running.result()
            raise
        finally:
            training.stop()
        running.result()
        sums = pickle.dumps(partial(live_worker.last_sums, told))
        return training.timeline(network.run(hosts.as_workers, SERVERS, sums, timeout=WAIT)[SERVERS])


def cut_server(training: Training, network: Network, cut: float = CUT) -> None:
    """Cuts the link of a server's host for a while, and mends it."""
    training.harm("cut", "server 1", network.cut, 1)
    time.sleep(cut)
    wait(lambda: training.failed() or given_up(training, 1))
    epoch = training.view().epoch  # others have long been filled up in its place, so it will be in no chain
    training.harm("mend", "server 1", network.mend, 1)
    wait(lambda: training.failed() or training.view().epoch > epoch)  # it belongs to the cluster again
