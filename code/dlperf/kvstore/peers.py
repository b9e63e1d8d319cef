"""Protocol messages among servers and with the scheduler; those with workers are in `dlperf.kvstore.wire`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from dlperf.kvstore import wire
from dlperf.kvstore.errors import Refused
from dlperf.kvstore.items import Saved
from dlperf.kvstore.membership import View
from dlperf.kvstore.ranges import Table


class Peer(wire.Message, frozen=True):
    """From a server to its neighbour in the chain of a range, in an epoch."""

    epoch: wire.Count
    range: wire.Small
    run: wire.Count
    """The sender's process."""


class Forward(Peer, frozen=True):
    """Apply the operation that follows as the ``index``-th."""

    index: wire.Count


class Ack(Peer, frozen=True):
    """All of the chain from here on have the operations up to ``index``."""

    index: wire.Count


class Sync(Peer, frozen=True):
    """I am the one before you, and have ``index`` operations. What do you have, of ``copy`` where I make you one?"""

    index: wire.Count
    copy: wire.Count = 0


class Have(Peer, frozen=True):
    """I have ``index`` operations, go on from there, though of ``copy`` I have so many ``parts`` only (``partial``).

    Or I have ``nothing`` of it: send me all.
    """

    index: wire.Count
    nothing: bool
    partial: bool = False
    copy: wire.Count = 0
    parts: wire.Count = 0


class Begin(Peer, frozen=True):
    """A copy begins, the ``copy``-th that the sender makes: all but the parts, in frames (`table_to_frames`)."""

    copy: wire.Count


def table_to_frames(table: Table) -> list[bytes]:
    """Returns a table as frames: what many workers have been refused is longer than a header, or a frame, may be."""
    whole = wire.encode(table)
    return [whole[at : at + wire.PAYLOAD] for at in range(0, len(whole), wire.PAYLOAD)]


def table_from_frames(frames: Sequence[Any]) -> Table:
    """Returns the table; raises `Refused` where it is none."""
    try:
        return TABLE.decode(b"".join(frames))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused("malformed", f"this is no table: {error}") from None


TABLE = msgspec.msgpack.Decoder(Table)


class Part(Peer, frozen=True):
    """A part of a copy, as it was after ``index`` operations; its frames follow."""

    copy: wire.Count
    number: wire.Count
    index: wire.Count
    key: wire.Key
    part: wire.Count
    saved: Saved


class Got(Peer, frozen=True):
    """So many parts of the copy have come, its end counted as one."""

    copy: wire.Count
    number: wire.Count


class End(Peer, frozen=True):
    """The copy had so many parts."""

    copy: wire.Count
    number: wire.Count


FromPeer = Forward | Ack | Sync | Have | Begin | Part | Got | End


class Beat(wire.Message, frozen=True):
    """A server or worker is alive, and knows ``epoch``; ``at`` is its own clock, in nanoseconds, to be sent back.

    Until the scheduler knows the ``run`` this also reports a process; a server's then tells which ranges it ``holds``,
    each with the number of operations that it has.
    """

    role: Literal["server", "worker"]
    rank: wire.Small
    run: wire.Count
    epoch: wire.Count
    at: wire.Count
    holds: tuple[tuple[wire.Small, wire.Count], ...] = ()
    leaving: bool = False


class CaughtUp(wire.Message, frozen=True):
    """The server that joins a range has all of it."""

    epoch: wire.Count
    range: wire.Small
    server: wire.Small


class Stuck(wire.Message, frozen=True):
    """From a ``server``: the ``next`` of a range's chain does not answer, or lacks what it cannot be given.

    Both may be alive, and the link between them cut: only the scheduler can tell who is to go on without whom.
    """

    epoch: wire.Count
    range: wire.Small
    server: wire.Small
    next: wire.Small


class Heard(wire.Message, frozen=True):
    """The answer to a beat: when it was sent, and the cluster as it is, where the sender does not know."""

    at: wire.Count
    view: View | None


class Unwelcome(wire.Message, frozen=True):
    """The scheduler will not have the sender, and why."""

    detail: wire.Text


ToScheduler = Beat | CaughtUp | Stuck
FromScheduler = Heard | Unwelcome
