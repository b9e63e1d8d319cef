"""The command line ``python -m dlperf.kvstore``: run a server or the scheduler of a cluster, or make its keys."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from dlperf.kvstore import config as configuration
from dlperf.kvstore import scheduler, security
from dlperf.kvstore.errors import StoreError


def main(arguments: list[str] | None = None) -> int:
    """Returns 0, or 1 with what was wrong on stderr."""
    parser = argparse.ArgumentParser(prog="python -m dlperf.kvstore", description="A key-value store of tensors.")
    commands = parser.add_subparsers(dest="command", required=True)
    serving = commands.add_parser("serve", help="be one of the cluster's servers, until SIGTERM")
    serving.add_argument("--server", type=int, help="which; without, the RANK that torchrun sets")
    serving.add_argument(
        "--metrics", type=int, metavar="PORT", help="serve counts to Prometheus on this port of loopback"
    )
    serving.add_argument("--timeline", metavar="FILE", help="write the last requests there at the end, for Perfetto")
    scheduling = commands.add_parser("schedule", help="be the cluster's scheduler, until SIGTERM")
    for each in (serving, scheduling):
        each.add_argument("--config", help="a TOML file; without, torchrun's environment is read")
        each.add_argument(
            "--port", type=int, default=5570, help="the scheduler's, where there is no file; servers follow"
        )
    keys = commands.add_parser("keys", help="make the keys of a cluster that is reached from other machines")
    keys.add_argument("folder")
    given = parser.parse_args(arguments)
    try:
        if given.command == "keys":
            print(f"Keys are in {security.make_keys(given.folder)}.")
            return 0
        if given.config:
            config = configuration.read(given.config)
        else:
            config = configuration.from_environment(dict(os.environ), given.port)
        if given.command == "schedule":
            scheduler.run(config)
            return 0
        serve(config, given.server, given.metrics, given.timeline)
        return 0
    except (ValueError, OSError, StoreError, KeyError) as error:
        print(f"dlperf.kvstore: {error}", file=sys.stderr)
        return 1


def serve(
    config: configuration.Config, which: int | None = None, port: int | None = None, timeline: str | None = None
) -> None:
    """Is a server of a cluster until SIGTERM; the arguments are those of the command."""
    from dlperf.compilers.allocation import kept_memory  # here: PyTorch takes a second, for which others need not wait
    from dlperf.kvstore.server import Server

    server = Server(config, int(os.environ["RANK"]) if which is None else which)
    if port is not None:
        address = config.servers[server.me]
        server.metrics.listen(port, address.rpartition(":")[0] if configuration.is_loopback(address) else "127.0.0.1")
    print(f"Server {server.me} listens on {config.servers[server.me]}.", flush=True)
    try:
        with kept_memory():  # what a message brings lies in new memory: clearing its pages takes as long as adding
            server.run()
    finally:
        if timeline is not None:
            Path(timeline).write_bytes(server.metrics.trace())
