"""Parts of the long tests: together they are all of them, and none runs twice."""

from __future__ import annotations

import pytest

from tests.parts import part_of


@pytest.mark.parametrize("of", [1, 3, 4, 12])
def test_each_item_is_in_one_part(of: int) -> None:
    parts = [part_of(range(10), f"{number}/{of}") for number in range(1, of + 1)]
    assert sorted(item for each in parts for item in each) == list(range(10))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_without_a_part_all_run() -> None:
    assert part_of("abc", "") == ["a", "b", "c"]


@pytest.mark.parametrize("part", ["0/4", "5/4", "0/0", "2", "a/b", "2/4 "])
def test_a_part_that_is_none_is_named(part: str) -> None:
    with pytest.raises(ValueError, match=f"PART is '{part}'; 2/4 would be the second of four parts"):
        part_of("abc", part)
