"""Cluster configuration, from TOML, JSON or torchrun's environment: addresses, replicas, staleness and timeouts."""

from __future__ import annotations

import ipaddress
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Literal, get_args

import msgspec

WORKERS = 2048
"""So many workers at most: a view, which names them all, has to fit into a header (`wire.HEADER`)."""

Seconds = Annotated[float, msgspec.Meta(gt=0)]
Address = Annotated[str, msgspec.Meta(pattern=r"^[^:/\s]+:[0-9]{1,5}$")]


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A cluster. Raises ValueError where the numbers do not go together.

    ``scheduler`` and each of ``servers`` are a host and a port; a server also listens on the next port, to servers.
    ``copies`` is how many servers hold each range. ``staleness`` is the number of rounds that a worker may be ahead:
    0 is BSP, None is ASP. ``on_lost`` says what rounds do when a worker is heard of no more. ``disk`` is a folder for
    each server's ranges and the scheduler's view; ``sync`` says when they are safe there: with every operation, so
    that a cluster that lost power comes back with all that it acknowledged, or when the system gets round to it.
    ``keys`` is a folder that `dlperf.kvstore.security` has made; without, only loopback can be listened on, unless the
    cluster is ``unprotected``: then whoever reaches it may read and write, as on a network of its own.
    """

    scheduler: Address
    servers: Annotated[tuple[Address, ...], msgspec.Meta(min_length=1, max_length=1000)]
    workers: Annotated[int, msgspec.Meta(ge=1, le=WORKERS)]
    copies: Annotated[int, msgspec.Meta(ge=1)] = 1
    staleness: Annotated[int, msgspec.Meta(ge=0)] | None = 0
    on_lost: Literal["wait", "drop", "error"] = "wait"
    patience: Seconds = 60.0
    """So many seconds a worker waits for an answer, or for other workers, before it raises."""
    beat: Seconds = 0.2
    """So often does everybody tell the scheduler that it is there."""
    lease: Seconds = 1.0
    """So long does a server answer reads after a beat that the scheduler has answered."""
    dead: Seconds = 2.0
    """So long after its last beat is a server or worker taken for lost."""
    disk: str | None = None
    sync: Literal["always", "system"] = "always"
    keys: str | None = None
    unprotected: bool = False
    nearby: Literal["unix", "tcp"] = "unix"
    """How workers reach servers on loopback: by Unix sockets, where the system has them, or by TCP."""

    def __post_init__(self) -> None:
        if self.copies > len(self.servers):
            raise ValueError(f"{self.copies} copies need as many servers, got {len(self.servers)}")
        if not self.beat < self.lease < self.dead:
            times = f"beat={self.beat}, lease={self.lease}, dead={self.dead}"
            raise ValueError(f"beat < lease < dead must hold, or two servers could answer for one range; got {times}")
        listening = [self.scheduler, *self.servers, *(next_port(each) for each in self.servers)]
        if len(set(listening)) < len(listening):
            raise ValueError(
                f"a server listens on its port and the next, so these collide: {', '.join(sorted(listening))}"
            )
        if self.unprotected and self.keys is not None:
            raise ValueError(f"an unprotected cluster has no keys, got keys={self.keys!r}")
        outside = [each for each in listening if not is_loopback(each)]
        if outside and self.keys is None and not self.unprotected:
            raise ValueError(
                f"{outside[0]} can be reached from outside, which needs keys: python -m dlperf.kvstore keys FOLDER"
            )


def next_port(address: str) -> str:
    """Returns the address with the next port, on which a server listens to servers."""
    host, _, port = address.rpartition(":")
    return f"{host}:{int(port) + 1}"


def nearby(config: Config, address: str) -> str | None:
    """Returns the Unix socket beside a server's address, by which workers on its machine reach it; None if by TCP.

    To the kernel a byte there is a third of the work. The name is one of Linux, in no folder, and as public as a port.
    """
    unix = config.nearby == "unix" and sys.platform == "linux" and is_loopback(address)
    return f"ipc://@dlperf.kvstore {address}" if unix else None


def is_loopback(address: str) -> bool:
    """Returns whether an address can be reached from this machine only."""
    host = address.rpartition(":")[0]
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read(path: str | Path) -> Config:
    """Returns what a TOML file says, or one of JSON.

    Raises ValueError with the file, what is wrong with it, and what would be right.
    """
    parse = msgspec.json.decode if Path(path).suffix == ".json" else tomllib.loads
    try:
        return msgspec.convert(parse(Path(path).read_text(encoding="utf-8")), Config)
    except (msgspec.MsgspecError, ValueError) as error:
        raise ValueError(f"{path}: {error}{_right(str(error))}") from None


def _right(wrong: str) -> str:
    """Returns what would be right, where msgspec says only what is wrong."""
    if "unknown field" in wrong or "missing required field" in wrong:
        fields = msgspec.structs.fields(Config)
        needed, others = ([f.name for f in fields if f.required is each] for each in (True, False))
        return f"; it needs {', '.join(needed)}, and may have {', '.join(others)}"
    if "matching regex" in wrong:
        return "; an address is a host and a port, such as 10.0.0.1:5570"
    if "Invalid enum value" in wrong:
        (field,) = (f for f in msgspec.structs.fields(Config) if wrong.endswith(f"`$.{f.name}`"))
        return f"; it is one of {', '.join(map(repr, get_args(field.type)))}"
    return ""


def from_environment(environ: dict[str, str], port: int = 5570, **options: object) -> Config:
    """Returns a cluster with a server and a worker beside every process that `torchrun` has started.

    It reads ``MASTER_ADDR`` and ``WORLD_SIZE``, so all are on one host; a cluster of several hosts is told by a file.
    """
    try:
        host, size = environ["MASTER_ADDR"], int(environ["WORLD_SIZE"])
    except KeyError as missing:
        raise ValueError(f"{missing.args[0]} is not set: start with torchrun, or name a file") from None
    servers = tuple(f"{host}:{port + 1 + 2 * rank}" for rank in range(size))
    return msgspec.convert({"scheduler": f"{host}:{port}", "servers": servers, "workers": size, **options}, Config)
