"""Who is let in: loopback without keys, else only who has them."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
import torch
import zmq
import zmq.auth

from dlperf.kvstore import Config, connect, local, peers, security, wire
from dlperf.kvstore.config import next_port
from tests.kvstore.limits import LONG
from tests.processes import DEADLINE_S

FROM_SCHEDULER = wire.decoder(peers.FromScheduler)


def test_keys_are_made_once_for_their_owner_alone(tmp_path: Path) -> None:
    folder = security.make_keys(tmp_path / "keys")
    names = {path.name for path in folder.iterdir()}
    assert names == {"server.key", "server.key_secret", "worker.key", "worker.key_secret"}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert not any(stat.S_IMODE(path.stat().st_mode) & 0o077 for path in folder.iterdir())
    with pytest.raises(FileExistsError, match="has keys already"):
        security.make_keys(folder)


@pytest.mark.parametrize("address", ["0.0.0.0:7000", "10.0.0.1:7000", "example.org:7000"])
def test_what_can_be_reached_from_outside_needs_keys(address: str) -> None:
    inside = "127.0.0.1:8000"
    for addresses in ({"scheduler": address, "servers": (inside,)}, {"scheduler": inside, "servers": (address,)}):
        with pytest.raises(ValueError, match=f"{address} can be reached from outside, which needs keys"):
            Config(**addresses, workers=1)
        assert Config(**addresses, workers=1, keys="somewhere")
        assert Config(**addresses, workers=1, unprotected=True)


def test_keys_that_are_not_there_are_asked_for(tmp_path: Path) -> None:
    context = zmq.Context.instance()
    with context.socket(zmq.DEALER) as socket, pytest.raises(ValueError, match=r"python -m dlperf\.kvstore keys"):
        security.introduce(socket, "worker", str(tmp_path))


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(security.make_keys(tmp_path_factory.mktemp("cluster") / "keys"))


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(security.make_keys(tmp_path_factory.mktemp("others") / "keys"))


def test_who_has_no_keys_or_others_hears_nothing(keys: str, others: str) -> None:
    config = local.config(2, 1, copies=2, keys=keys, staleness=None, **LONG)
    beat = wire.encode(peers.Beat("worker", 0, 1, 0, 0))
    pull = wire.encode(wire.Pull(1, 0, 0, 0, 1, "k", 0))
    front, back = config.servers[0], next_port(config.servers[0])
    mixed = Path(others) / "mixed"  # other keys, but the right public key of the servers
    mixed.mkdir()
    for name in ("worker.key_secret", "server.key_secret"):
        (mixed / name).write_bytes((Path(others) / name).read_bytes())
    (mixed / "server.key").write_bytes((Path(keys) / "server.key").read_bytes())
    with local.Cluster(config), connect(config, 0) as store:
        store.create("k", torch.arange(3.0))
        assert store.pull("k").tolist() == [0, 1, 2]
        assert answers(config.scheduler, beat, "worker", keys)
        assert answers(front, pull, "worker", keys)
        assert answers(front, pull, "server", keys)
        for folder in (None, others, str(mixed)):
            assert not answers(config.scheduler, beat, "worker", folder, should=False)
            assert not answers(front, pull, "worker", folder, should=False)
        assert not connects(back, "worker", keys, should=False)  # a worker is no server
        assert connects(back, "server", keys)


def _socket(context: zmq.Context, role: str, keys: str | None) -> zmq.Socket:
    socket = context.socket(zmq.DEALER)
    socket.linger = 0
    security.introduce(socket, role, keys)
    return socket


def answers(address: str, message: bytes, role: str, keys: str | None, should: bool = True) -> bool:
    """Returns whether a message is answered: at last if it ``should`` be, else within a second."""
    with zmq.Context() as context, _socket(context, role, keys) as socket:
        socket.connect(f"tcp://{address}")
        socket.send(message)
        return bool(socket.poll(1e3 * DEADLINE_S if should else 1000))


def connects(address: str, role: str, keys: str | None, should: bool = True) -> bool:
    """Returns whether a connection is accepted, by ZeroMQ's own word: at last if it ``should`` be, else in a second."""
    with zmq.Context() as context, _socket(context, role, keys) as socket:
        ends = zmq.EVENT_HANDSHAKE_SUCCEEDED
        with socket.get_monitor_socket(ends) as monitor:
            socket.connect(f"tcp://{address}")
            accepted = bool(monitor.poll(1e3 * DEADLINE_S if should else 1000))
            socket.disable_monitor()
            return accepted


def test_with_the_key_of_a_worker_nobody_speaks_for_a_server(keys: str) -> None:
    """A beat as of a new process of server 0 would have the real one sent away, and its ranges with it."""
    config = local.config(2, 1, copies=2, keys=keys, staleness=None, **LONG)
    with local.Cluster(config), connect(config, 0) as store:
        epoch = store.view.epoch
        for message in (peers.Beat("server", 0, 77, 0, 0), peers.CaughtUp(epoch, 0, 1), peers.Stuck(epoch, 0, 0, 1)):
            answer = wire.decode(answer_to(config.scheduler, wire.encode(message), "worker", keys), FROM_SCHEDULER)
            assert answer == peers.Unwelcome("only who has the key of servers speaks for one")
        store.create("k", torch.arange(3.0))
        assert store.view.epoch == epoch
        known = answer_to(config.scheduler, wire.encode(peers.Beat("server", 5, 77, 0, 0)), "server", keys)
        assert "there is no 5" in wire.decode(known, FROM_SCHEDULER).detail  # heard, and then held against the cluster


def answer_to(address: str, message: bytes, role: str, keys: str) -> bytes:
    with zmq.Context() as context, _socket(context, role, keys) as socket:
        socket.connect(f"tcp://{address}")
        socket.send(message)
        assert socket.poll(1e3 * DEADLINE_S)
        return socket.recv()
