"""All checks of the sources together, and the table of what pages show."""

from __future__ import annotations

from booktools.checks.check import check, problems
from booktools.commands.tally import HEADS, tally
from booktools.source.book import Book
from tests.conftest import ROOT, edit, edit_both

BAD = 'record("tiny.n", 3)  # ' + "x" * 80


def test_make_check_checks_the_book() -> None:
    """What it finds there is not looked for here once more."""
    targets = (ROOT / "Makefile").read_text(encoding="utf-8").split("\n\n")
    lints = next(each for each in targets if each.startswith("lints: "))
    check_target = next(each for each in targets if "\ncheck: " in each)
    assert "\n\t@$(BIN)/python -m booktools check\n" in f"{lints}\n"
    assert " lints " in check_target


def test_each_check_is_made(tiny: Book) -> None:
    check(tiny)
    edit_both(tiny, "tiny", "1 + 2", BAD)
    edit(tiny.page("en", "tiny"), "Like this.", "Like {given}`1`, {given}`2`, {given}`3`, {given}`4`, {given}`5`.")
    found = "\n".join(problems(tiny))
    assert "this records" in found
    assert "columns; visible code" in found
    assert "5 numbers; a paragraph" in found


def test_the_table_counts(tiny: Book) -> None:
    edit_both(tiny, "tiny", "1 + 2", f"1 + 2\n{BAD}")
    rows = [line.split() for line in tally(tiny).splitlines()[1:]]
    assert [row[0] for row in rows] == ["en/tiny", "zh/tiny"]
    row = dict(zip([*HEADS[:2], "recording cells", "lines", "recording lines", *HEADS[5:]], rows[0], strict=True))
    assert (row["cells shown"], row["recording cells"], row["lines"], row["recording lines"]) == ("1", "1", "2", "1")
    assert (row["> 76"], row["widest"], row["blocks too wide"]) == ("1", str(len(BAD)), "1")
    assert (row["> 4 numbers"], row["most"]) == ("0", "3")
