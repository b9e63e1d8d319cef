"""Authenticate and encrypt connections by ZeroMQ's CURVE keys: only holders of known public keys are let in.

    python -m dlperf.kvstore keys FOLDER

makes them, once. The folder goes to the servers and the scheduler; workers need only ``worker.key_secret`` and
``server.key`` of it. Source: Bernstein, CurveCP, and RFC 25/ZAP of ZeroMQ for how it asks.
"""

from __future__ import annotations

import os
from pathlib import Path

import zmq
import zmq.auth
from zmq.auth.thread import ThreadAuthenticator

from dlperf.kvstore import wire

SERVERS, WORKERS = "servers", "workers"
"""The two domains: servers may talk to servers, and workers, too, to servers' front and to the scheduler."""

LARGEST = 2 * wire.PAYLOAD
"""Who sends a frame of more bytes than this is cut off by ZeroMQ, before it takes any memory."""


def make_keys(folder: str | Path) -> Path:
    """Makes key pairs for servers and workers; returns the folder. Raises FileExistsError rather than replace keys."""
    folder = Path(folder)
    for name in ("server", "worker"):
        if (folder / f"{name}.key_secret").exists():
            raise FileExistsError(f"{folder} has keys already; who holds them would be locked out by new ones")
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    before = os.umask(0o077)
    try:
        for name in ("server", "worker"):
            zmq.auth.create_certificates(folder, name)
    finally:
        os.umask(before)
    return folder


def _key(folder: str, name: str) -> tuple[bytes, bytes | None]:
    path = Path(folder) / name
    try:
        return zmq.auth.load_certificate(path)
    except OSError:
        raise ValueError(f"there is no {path}: python -m dlperf.kvstore keys {folder} makes keys") from None


def guard(socket: zmq.Socket, domain: str, keys: str | None) -> None:
    """Has a socket that will be bound let in only those of a domain, where there are keys."""
    socket.maxmsgsize = LARGEST
    if keys is not None:
        socket.curve_publickey, socket.curve_secretkey = _key(keys, "server.key_secret")
        socket.curve_server = True
        socket.zap_domain = domain.encode()


def introduce(socket: zmq.Socket, role: str, keys: str | None) -> None:
    """Has a socket that will connect to a server say who it is, a "server" or a "worker", where there are keys."""
    socket.maxmsgsize = LARGEST
    if keys is not None:
        socket.curve_publickey, socket.curve_secretkey = _key(keys, f"{role}.key_secret")
        socket.curve_serverkey, _ = _key(keys, "server.key")


def doorkeeper(context: zmq.Context, keys: str | None) -> ThreadAuthenticator | None:
    """Returns what answers ZeroMQ's question whether to let somebody in, already at work; None without keys."""
    if keys is None:
        return None
    authenticator = ThreadAuthenticator(context)
    authenticator.start()
    known = {name: _key(keys, f"{name}.key")[0] for name in ("server", "worker")}
    authenticator.configure_curve_callback(SERVERS, _Known({known["server"]}))
    authenticator.configure_curve_callback(WORKERS, _Known(set(known.values())))
    return authenticator


def server_key(keys: str | None) -> bytes | None:
    """Returns the public key of servers; None without keys."""
    return None if keys is None else _key(keys, "server.key")[0]


def is_from(frame: zmq.Frame, key: bytes | None) -> bool:
    """Returns whether who sent a frame has a key, by the word of a `doorkeeper`; without a key, anybody may be it."""
    return key is None or frame.get("User-Id") == key.decode()


class _Known:
    """The public keys of a domain."""

    def __init__(self, keys: set[bytes]) -> None:
        self.keys = keys

    def callback(self, domain: str, key: bytes) -> bool:
        return key in self.keys
