"""The parity gate: every kind of drift is found and named, honest text passes."""

from __future__ import annotations

import pytest

from booktools.checks import parity
from booktools.checks.parity import lacking_terms, problems, terms
from booktools.source.book import Book
from tests.conftest import ROOT, edit


def test_the_book_s_languages_agree() -> None:
    assert problems(Book(ROOT)) == []


def test_the_tiny_book_passes(tiny: Book) -> None:
    assert problems(tiny) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("## 测量", "### 测量", "here stands a heading 3, there a heading 2"),
        ("(tiny-measure)=", "(tiny-measured)=", "the label differs"),
        ("像这样。", "像这样。\n\n再来一段。", "here stands a paragraph, there a {code-cell}"),
        ("像这样。", "- 像这样。", "here stands a bullet list, there a paragraph"),
        ("{given}`95 %`", "{given}`90 %`", "references differ: {given} 95 against {given} 90"),
        ("{glue:text}`tiny.sum.iqr`", "{glue:text}`tiny.sum`", "references differ"),
        (":label: tiny-ex-1", ":label: tiny-ex-2", "the {exercise} differs"),
        ("tiny.sum tiny.size", "tiny.size tiny.sum", "the {machines} differs"),
        ("1 + 2", "1 + 3", "cell 2 differs"),
        (":name: tiny-figure", ":name: tiny-figur", "the {glue:figure} differs"),
    ],
)
def test_drift_is_found_and_named(tiny: Book, old: str, new: str, message: str) -> None:
    edit(tiny.page("zh", "tiny"), old, new)
    found = problems(tiny)
    assert any(message in problem for problem in found), found
    assert all("tiny.md:" in problem for problem in found)


def test_pages_must_exist_in_every_language_and_in_the_toc(tiny: Book) -> None:
    (tiny.chapters / "zh" / "extra.md").write_text("# x\n")
    assert problems(tiny) == ["chapters/zh/extra.md: is not in _toc.yml"]


def test_equations_may_differ_in_their_words_only(tiny: Book) -> None:
    for language, word in (("en", "time"), ("zh", "时间")):
        edit(
            tiny.page(language, "tiny"),
            "(tiny-exercises)=",
            f"$$\nT_{{\\text{{{word}}}}} = n t\n$$\n\n(tiny-exercises)=",
        )
    assert problems(tiny) == []
    edit(tiny.page("zh", "tiny"), "= n t", "= n + t")
    assert any("the equation differs" in problem for problem in problems(tiny))


def lacking(book: Book, english: str, chinese: str) -> list[str]:
    return [term.source for term in lacking_terms(english, chinese, terms(book, "zh"), set())]


def test_a_term_must_have_its_fixed_translation(tiny: Book) -> None:
    assert lacking(tiny, "The medians of two caches", "两个缓存的中位数") == []
    assert lacking(tiny, "The median", "中值") == ["median"]
    assert lacking(tiny, "Interquartile ranges", "四分位距") == []


def test_the_longest_term_counts(tiny: Book) -> None:
    assert lacking(tiny, "a cache line", "一个缓存行") == []
    assert lacking(tiny, "a cache miss", "一个缓存") == ["cache miss"]


def test_code_roles_and_formulas_hold_no_terms(tiny: Book) -> None:
    assert lacking(tiny, "call `median()` at $median$ {glue:text}`a.median`", "调用") == []
    assert lacking(tiny, "a *{term}`warm-up`*", "*{term}`预热`*（warm-up）") == []
    assert lacking(tiny, "It [is | is not]{outcome=push.id} so.", "这[成立 | 不成立]{outcome=push.id}。") == []


def test_a_term_with_two_translations_may_be_either(tiny: Book) -> None:
    for chinese in ("两个工作进程在等。", "两个工作节点在等。"):
        assert lacking(tiny, "Two workers wait.", chinese) == []
    assert lacking(tiny, "Two workers wait.", "两个工人在等。") == ["worker"]


def test_parts_of_words_are_not_terms(tiny: Book) -> None:
    assert lacking(tiny, "precached, streamlined, ranking", "无") == []


def test_a_word_in_another_sense_can_be_excused(tiny: Book) -> None:
    for language, text in (("en", "We push on."), ("zh", "我们继续。")):
        edit(tiny.page(language, "tiny"), "(tiny-exercises)=", f"{text}\n\n(tiny-exercises)=")
    assert any("'push'" in problem for problem in problems(tiny))
    edit(tiny.page("en", "tiny"), "We push on.", "% not a term: push\nWe push on.")
    assert problems(tiny) == [] or not any("'push'" in p for p in problems(tiny))


def test_every_page_of_terms_has_one_translation_each() -> None:
    known = parity.terms(Book(ROOT), "zh")
    sources = [term.source for term in known]
    assert len(sources) == len(set(sources)) > 100
