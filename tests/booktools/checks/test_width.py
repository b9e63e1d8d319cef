"""Code that a page shows has at most 76 columns, wherever it comes from; what is not shown may be wider."""

from __future__ import annotations

from pathlib import Path

import pytest

from booktools.checks.width import problems
from booktools.show.catalogue import COLUMNS, columns
from booktools.source.book import Book, BookError
from tests.conftest import edit, edit_both

JUST, WIDE = "x = 1" + "0" * (COLUMNS - 5), "x = 1" + "0" * (COLUMNS - 4)
MODULE = f"""# {WIDE}
def narrow():
    \"\"\"Returns None.\"\"\"
    return None


class Wide:
    def wide(self):
        {WIDE}


# end
"""


def line_of(path: Path, text: str) -> int:
    return path.read_text(encoding="utf-8").splitlines().index(text) + 1


@pytest.fixture
def module(tiny: Book) -> Path:
    path = tiny.root / "code" / "module.py"
    path.parent.mkdir()
    path.write_text(MODULE, encoding="utf-8")
    return path


def include(book: Book, *options: str) -> None:
    """Lets both languages show the module."""
    shown = "\n".join(["```{literalinclude} ../../code/module.py", *options, "```"])
    for text in ("Like this.", "像这样。"):
        edit(book.page("en" if text[0] == "L" else "zh", "tiny"), text, f"{text}\n\n{shown}")


def test_the_tiny_book_s_code_fits(tiny: Book) -> None:
    assert problems(tiny) == []


def test_a_wide_line_of_a_visible_cell_is_named_with_its_width(tiny: Book) -> None:
    edit_both(tiny, "tiny", "1 + 2", f"{JUST}\n{WIDE}")
    (found,) = problems(tiny)
    line = line_of(tiny.page("en", "tiny"), WIDE)
    assert found.startswith(f"chapters/en/tiny.md:{line}: {COLUMNS + 1} columns; visible code has at most {COLUMNS}")


def test_a_folded_cell_may_be_wide(tiny: Book) -> None:
    edit_both(tiny, "tiny", "1 + 2", f":tags: [hide-input]\n\n{WIDE}")
    assert problems(tiny) == []


@pytest.mark.parametrize("head", ["```", "```python", "```{code-block} python", "```{code-block} python\n:name: x\n"])
def test_a_fence_is_read_in_its_own_language(tiny: Book, head: str) -> None:
    edit(tiny.page("zh", "tiny"), "像这样。", f"像这样。\n\n{head}\n{JUST}\n{WIDE}\n```")
    (found,) = problems(tiny)
    assert found.startswith(f"chapters/zh/tiny.md:{line_of(tiny.page('zh', 'tiny'), WIDE)}: {COLUMNS + 1} columns")


@pytest.mark.parametrize(
    ("options", "beyond"),
    [
        ([":pyobject: narrow"], 0),
        ([":pyobject: Wide.wide"], 9),
        ([":lines: 2-4"], 0),
        ([":lines: 2-9"], 9),
        ([":start-after: class Wide", ":end-before: '# end'"], 9),
        ([":start-at: '# end'"], 0),
        ([":lines: 9", ":dedent: 8"], 1),
    ],
)
def test_of_an_included_file_the_lines_that_show_count(
    tiny: Book, module: Path, options: list[str], beyond: int
) -> None:
    include(tiny, *options)
    found = problems(tiny)
    assert bool(found) == bool(beyond)
    if beyond:
        line = line_of(module, f"        {WIDE}")
        assert found[0].startswith(f"code/module.py:{line} (shown by chapters/en/tiny.md): {COLUMNS + beyond} columns;")


def test_an_included_file_is_looked_at_again_when_it_changes(tiny: Book, module: Path) -> None:
    include(tiny, ":pyobject: narrow")
    assert problems(tiny) == []
    edit(module, "    return None", f"    {JUST}")
    assert len(problems(tiny)) == 1


@pytest.mark.parametrize("options", [[":pyobject: nothing"], [":start-after: nothing"], [":nothing: 1"]])
def test_what_cannot_be_included_is_named_with_its_line(tiny: Book, module: Path, options: list[str]) -> None:
    include(tiny, *options)
    line = line_of(tiny.page("en", "tiny"), "```{literalinclude} ../../code/module.py")
    with pytest.raises(BookError, match=rf"^chapters/en/tiny\.md:{line}: .*nothing"):
        problems(tiny)


def test_a_comment_s_translation_counts_too(tiny: Book) -> None:
    code = "total = sum(range(1000))  # one more word"
    edit_both(tiny, "tiny", "1 + 2", code)
    labels = tiny.chapters / "labels.zh.po"
    labels.write_text(
        labels.read_text(encoding="utf-8") + '\nmsgid "one more word"\nmsgstr "' + "字" * 25 + '"\n', encoding="utf-8"
    )
    (found,) = problems(tiny)
    line = line_of(tiny.page("zh", "tiny"), code)
    assert found.startswith(f"chapters/zh/tiny.md:{line}: labels.zh.po makes a line here {28 + 50} columns wide")
    edit(labels, "字" * 25, "字" * 24)
    assert problems(tiny) == []


def test_han_takes_two_columns() -> None:
    assert columns("a字（") == 5
    assert columns("µ×–") == 3
