"""What the search page looks through, by what no browser is needed for: words between Han, and sections as text."""

from __future__ import annotations

from docutils import nodes

from booktools.site.search import SearchHan, _plain


def test_words_between_han_are_words_of_the_index() -> None:
    index = SearchHan({})
    assert index.split("用Benchmark测量all_reduce的µs数，第2次") == ["Benchmark", "all_reduce", "µs", "2"]
    assert index.stem("measuring") == index.stem("measured")


def test_what_docutils_says_of_a_section_is_not_in_its_text() -> None:
    """It names the file in the folder of whoever built the site."""
    message = nodes.system_message("", nodes.paragraph("", "Duplicate implicit target"), source="/home/me/book/a.md")
    section = nodes.container("", message, nodes.paragraph("", "What is meant."))
    assert _plain(section) == "What is meant."
