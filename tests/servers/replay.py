"""How long messages take that were written down, by any line from rank to rank."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache

from tests.servers.summing import Message


def length(logs: Sequence[Sequence[Sequence[Message]]], taking: Callable[[int, int, int], float]) -> float:
    """Returns when the last rank is done, where a message of some bytes from rank to rank takes what ``taking`` says.

    A message begins when both sides are ready for it, and each goes on when all that it does at once is done. The
    n-th message from one rank to another is the n-th that this expects of it.
    """
    places: dict[tuple[bool, int, int], list[int]] = defaultdict(list)
    turns = {}
    for rank, log in enumerate(logs):
        for at, batch in enumerate(log):
            for n, message in enumerate(batch):
                same = places[message.sends, rank, message.peer]
                turns[rank, at, n] = len(same)
                same.append(at)

    @cache
    def done(rank: int, at: int) -> float:
        if at < 0:
            return 0.0
        ends = []
        for n, message in enumerate(logs[rank][at]):
            there = places[not message.sends, message.peer, rank][turns[rank, at, n]]
            begin = max(done(rank, at - 1), done(message.peer, there - 1))
            source, target = (rank, message.peer) if message.sends else (message.peer, rank)
            ends.append(begin + taking(source, target, message.size))
        return max(ends)

    return max(done(rank, len(log) - 1) for rank, log in enumerate(logs))
