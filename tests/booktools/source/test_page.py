"""What is read of a page's source."""

from __future__ import annotations

import threading

from booktools.source.page import parse


class Meanwhile:
    """Garbage in a cycle; when it is collected, a second thread parses and is waited for, if not for long."""

    collected = threading.Event()

    def __init__(self) -> None:
        self.own = self

    def __del__(self) -> None:
        """Parses as another thread would that takes over here."""
        self.collected.set()
        other = threading.Thread(target=parse, args=("x = 1",))
        other.start()
        other.join(0.2)


def test_two_threads_may_parse_at_once() -> None:
    Meanwhile()
    tree = parse("\n".join(f"x{i} = f({i}, [{i}, {i}])" for i in range(3000)))  # so many that garbage is collected
    assert len(tree.body) == 3000
    assert Meanwhile.collected.is_set()
