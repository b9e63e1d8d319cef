"""What `jupyter-book build .` makes of the tiny book, run as a user runs it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup

from booktools.claims.outcomes import choose
from booktools.executions.records import HERE
from booktools.show.edition import FORCED, open_edition
from booktools.source.book import Book
from booktools.source.kernel import KEY
from booktools.source.keys import stored
from booktools.source.notebook import read_records
from tests.build.conftest import Here
from tests.conftest import edit, edit_both


def page(book: Book, name: str) -> str:
    return (book.build / "html" / name).read_text(encoding="utf-8")


def executed(book: Book) -> dict[str, int]:
    return {p.stem: p.stat().st_mtime_ns for p in book.notebooks.glob("*.ipynb")}


def test_english_stands_at_the_root_and_chinese_below(built: Book) -> None:
    assert re.search(r'<html[^>]* lang="en"', page(built, "tiny.html"))
    assert re.search(r'<html[^>]* lang="zh-CN"', page(built, "zh/tiny.html"))
    assert "小小一章" in page(built, "zh/tiny.html")


def test_both_languages_show_one_execution(built: Book) -> None:
    notebook = nbformat.read(built.notebooks / "tiny.ipynb", as_version=4)
    shown = str(read_records(notebook, "tiny")["tiny.sum"]["value"])
    for name in ("tiny.html", "zh/tiny.html"):
        assert shown in page(built, name)


def test_labels_tables_comments_and_outputs_are_chinese(built: Book) -> None:
    text = page(built, "zh/tiny.html")
    for chinese in ("线程数", "时间（µs）", "中位数", "测量求和的时间", "求和：", "本次构建", "成立"):
        assert chinese in text
    for english in (">number of threads<", "# Time a sum.", "this build"):
        assert english in page(built, "tiny.html")
        assert english not in text


def test_a_folded_cell_says_what_it_does_in_the_words_that_are_seen(built: Book) -> None:
    """What is read out is what stands there: no label of its own, in no other language, and no second title."""
    words = {"tiny.html": "Code that records and draws", "zh/tiny.html": "记录与绘图的代码"}
    for name, text in words.items():
        folded = re.search(r'<details class="[^"]*\bhide\b.*?<summary.*?</summary>', page(built, name), re.S)
        assert folded, name
        assert folded[0].endswith(f"<summary>{text}</summary>")


def text_of(book: Book, name: str) -> str:
    return " ".join(BeautifulSoup(page(book, name), "html.parser").get_text(" ").split())


def test_text_follows_the_outcome(built: Book) -> None:
    """A page says what is so on the machine that it shows, and nothing of what is not."""
    text = text_of(built, "tiny.html")
    assert "The sum is long, of 1000 numbers, and found no GPU." in text
    assert "It lies beyond its bound of 1000 ." in text
    for other in ("short", "did not run on a GPU", "stays below", "Here it ran backwards", "outcome="):
        assert other not in text
    assert "这个和很长，共1000个数，而且没找到GPU。" in text_of(built, "zh/tiny.html").replace(" 1000 ", "1000")


def test_every_outcome_can_be_seen(copy: Book, build_here: Here) -> None:
    done = build_here(copy, BOOKTOOLS_OUTCOME="failed")
    assert done.returncode == 0, done.stdout
    text = text_of(copy, "tiny.html")
    for words in ("Here it ran backwards.", "The sum is short and found no GPU.", "It lies beyond its bound"):
        assert words in text
    assert "Time does not run backwards." in text_of(copy, "machines.html")
    assert "Here it ran backwards." not in text_of(copy, "machines.html")


@pytest.mark.parametrize(
    ("outcome", "phrases", "bound"),
    [
        ("", ["long, of {glue:text}`tiny.size` numbers,", "found no GPU"], "failed"),
        ("held", ["long, of {glue:text}`tiny.size` numbers,", "found no GPU"], "held"),
        ("failed", ["short", "found no GPU"], "failed"),
        ("not-run", ["long, of {glue:text}`tiny.size` numbers,", "found no GPU"], "failed"),
    ],
)
def test_an_outcome_that_is_asked_for_stands_for_what_was_run(
    built: Book, monkeypatch: pytest.MonkeyPatch, outcome: str, phrases: list[str], bound: str
) -> None:
    """And for what needs hardware, where it is asked to be as if it had not run; the build asks the same of an edition.

    What was not run here, no page can show as held or failed: nothing was recorded that it could say of it.
    """
    monkeypatch.setenv(FORCED, outcome)
    edition = open_edition(built, built.languages[0], HERE)
    shown = choose(built.page("en", "tiny").read_text(encoding="utf-8"), edition.outcome)
    assert f"The sum is {phrases[0]} and {phrases[1]}." in shown
    assert edition.outcome("tiny.bound") == bound


def test_an_outcome_that_nothing_speaks_of_stops_the_build(copy: Book, build_here: Here) -> None:
    path = copy.chapters / "claims" / "tiny.py"
    edit(path, '"tiny.bound", ("tiny.size",)', '"tiny.bound", ("tiny.size", "tiny.lacking")')
    done = build_here(copy)
    assert done.returncode == 1
    assert "tiny.bound: not run on the machine shown, and there is no {not-run} that says so" in done.stdout


def test_figures_take_the_page_s_colours(built: Book) -> None:
    svg = re.search(r'class="dl-figure".*?</svg>', page(built, "tiny.html"), re.S)
    assert svg
    assert "var(--dl-series-1" in svg[0]
    assert "currentColor" in svg[0]
    assert "#000000" not in svg[0]


def test_machines_are_a_table_or_a_chart(built: Book) -> None:
    boxes = re.findall(r'<div class="dl-table-box dl-machines.*?</table>', page(built, "tiny.html"), re.S)
    assert [box.count('class="dl-bar"') for box in boxes] == [0, 1]
    assert "a sum" in boxes[0]
    assert "how large it is" in boxes[0]
    assert "<p>sum</p>" in boxes[1]  # as the record describes itself
    assert not any("tiny.sum" in box for box in boxes)
    assert "大小" in page(built, "zh/tiny.html")


def shows_both_machines(book: Book) -> None:
    """Asserts that a table sets this machine beside the recorded one.

    A row each: what both measured, with the record's name, and what neither did.
    """
    shown = str(read_records(nbformat.read(book.notebooks / "tiny.ipynb", as_version=4), "tiny")["tiny.sum"]["value"])
    for name, sign in (("tiny.html", ": "), ("zh/tiny.html", "：")):
        soup = BeautifulSoup(page(book, name), "html.parser")
        (table,) = (each for each in soup.select("table") if len(each.select("tbody tr")) == 2 and "–" in each.text)
        both, neither = ([cell.get_text() for cell in row.select("td")] for row in table.select("tbody tr"))
        assert both[1].startswith(shown)
        assert both[2].startswith(f"named{sign}{shown}")
        assert neither[1:] == ["–", "–"]


def test_a_word_of_prose_executes_nothing_and_shows(copy: Book, build_here: Here) -> None:
    before = executed(copy)
    edit(copy.page("en", "tiny"), "Like this.", "Like that.")
    done = build_here(copy)
    assert done.returncode == 0, done.stdout
    assert "executing" not in done.stdout
    assert executed(copy) == before
    assert "Like that." in page(copy, "tiny.html")


def read_pages(book: Book, language: str) -> dict[str, int]:
    """Returns when Sphinx last read each page."""
    folder = book.build / "work" / "this" / "doctrees" / language
    return {path.stem: path.stat().st_mtime_ns for path in folder.glob("*.doctree")}


def changed_pages(book: Book, build_here: Here) -> dict[str, set[str]]:
    """Builds the book and returns the pages that were read anew, by language."""
    before = {code: read_pages(book, code) for code in ("en", "zh")}
    done = build_here(book)
    assert done.returncode == 0, done.stdout
    after = {code: read_pages(book, code) for code in ("en", "zh")}
    return {code: {name for name, time in after[code].items() if before[code].get(name) != time} for code in after}


def test_only_pages_that_saw_what_changed_are_read_anew(copy: Book, build_here: Here) -> None:
    """A record, a label, a claim, a value and a property of a machine, one after another; nothing is executed."""
    before = executed(copy)
    record(copy)
    assert build_here(copy).returncode == 0  # all: the book was moved
    shows_both_machines(copy)
    edit(copy.chapters / "labels.zh.po", 'msgstr "线程数"', 'msgstr "线程的个数"')
    assert changed_pages(copy, build_here) == {"en": set(), "zh": {"tiny"}}
    assert "线程的个数" in page(copy, "zh/tiny.html")
    edit(copy.chapters / "claims" / "tiny.py", "median > 0", "median < 0")
    assert changed_pages(copy, build_here) == {code: {"tiny"} for code in ("en", "zh")}
    for name, failed in (("tiny.html", "failed"), ("machines.html", "failed"), ("zh/machines.html", "不成立")):
        assert failed in page(copy, name)  # The page that lists all claims is written anew, too.
    path = copy.records / "named" / "tiny.ipynb"
    edit(path, '"value": 1000', '"value": 1001')
    assert changed_pages(copy, build_here) == {code: {"tiny"} for code in ("en", "zh")}
    assert "1001" in page(copy, "tiny.html")
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata[KEY]["environment"]["memory_bytes"] = 2**30
    nbformat.write(notebook, path)
    assert changed_pages(copy, build_here) == {code: {"machines"} for code in ("en", "zh")}
    edit(copy.chapters / "labels.zh.po", "跳到正文", "跳过去读正文")
    assert changed_pages(copy, build_here) == {"en": set(), "zh": set()}
    assert "跳过去读正文" in page(copy, "zh/index.html")  # A string of the theme: written anew, not read.
    assert executed(copy) == before


def test_nothing_changed_executes_nothing_starts_no_sphinx_and_touches_nothing(copy: Book, build_here: Here) -> None:
    site, notebooks = copy.build / "html", executed(copy)
    before = {path: path.stat().st_mtime_ns for path in site.rglob("*")}
    done = build_here(copy)
    assert done.returncode == 0, done.stdout
    assert "Nothing has changed since the site was built" in done.stdout
    assert {path: path.stat().st_mtime_ns for path in site.rglob("*")} == before
    shutil.rmtree(site)
    done = build_here(copy)
    assert "The book is built" in done.stdout
    assert "executing" not in done.stdout
    assert executed(copy) == notebooks
    assert set(before) == set(site.rglob("*"))


def test_a_language_whose_build_was_broken_off_is_written_whole(copy: Book, build_here: Here) -> None:
    """What Sphinx remembers to have read may never have been written."""
    work = copy.build / "work" / "this"
    (work / "doctrees" / "zh" / "finished").unlink()
    shown = page(copy, "zh/tiny.html")
    (work / "html" / "zh" / "tiny.html").write_text("half a pa", encoding="utf-8")
    edit(copy.page("en", "index"), "It is", "It was")
    done = build_here(copy)
    assert done.returncode == 0, done.stdout
    assert page(copy, "zh/tiny.html") == shown


def test_a_changed_cell_executes_its_page(copy: Book, build_here: Here) -> None:
    before = executed(copy)
    edit_both(copy, "tiny", "1 + 2", "1 + 3")
    assert build_here(copy).returncode == 0
    assert executed(copy) != before


def test_a_language_is_a_folder_a_catalogue_and_a_line(copy: Book, build_here: Here) -> None:
    third = copy.chapters / "en-x-third"
    shutil.copytree(copy.chapters / "zh", copy.chapters / "zz")
    shutil.copy(copy.chapters / "labels.zh.po", copy.chapters / "labels.zz.po")
    line = "      - { code: zh, sphinx: zh_CN, html: zh-CN, name: 中文 }\n"
    edit(copy.root / "_config.yml", line, line + "      - { code: zz, sphinx: zh_TW, html: zh-TW, name: 第三 }\n")
    assert not third.exists()
    done = build_here(copy)
    assert done.returncode == 0, done.stdout
    assert "小小一章" in page(copy, "zz/tiny.html")


def record(book: Book, name: str = "named") -> Path:
    """Keeps this machine's execution as a record, as make record does at its end, but of another day."""
    target = book.records / name / "tiny.ipynb"
    target.parent.mkdir(parents=True)
    notebook = nbformat.read(book.notebooks / "tiny.ipynb", as_version=4)
    notebook.metadata["dlperf"]["environment"]["date"] = "2026-01-01T00:00:00Z"
    nbformat.write(notebook, target)
    return target


def test_a_record_of_this_very_build_is_no_second_column(copy: Book, build_here: Here) -> None:
    target = record(copy)
    shutil.copy(copy.notebooks / "tiny.ipynb", target)
    assert build_here(copy).returncode == 0
    assert "named" not in text_of(copy, "tiny.html")


def test_an_edition_is_built_from_a_record_without_executing(copy: Book, build_here: Here) -> None:
    record(copy)
    shutil.rmtree(copy.notebooks)
    done = build_here(copy, "named")
    assert done.returncode == 0, done.stdout
    assert not copy.notebooks.exists()
    assert "named" in page(copy, "tiny.html")
    assert "this build" not in page(copy, "tiny.html")
    assert "dl-stale" not in page(copy, "tiny.html")


def test_a_stale_record_says_so_on_the_page_and_in_the_log(copy: Book, build_here: Here) -> None:
    record(copy)
    edit_both(copy, "tiny", "1 + 2", "1 + 3")
    done = build_here(copy, "named")
    assert done.returncode == 0, done.stdout
    assert "records/named/tiny.ipynb is stale; changed since: cells" in done.stdout
    for name, stale, held in (("tiny.html", "stale", "held"), ("zh/tiny.html", "已过时", "成立")):
        assert "dl-stale-page" in page(copy, name)
        assert (
            "dlperf"
            not in BeautifulSoup(page(copy, name), "html.parser").select_one("meta[name=description]")["content"]
        )  # type: ignore[index]
        assert f"<strong>{stale}</strong>" in page(copy, name)
        assert f"<strong>{held}</strong>" not in page(copy, name)


def test_what_this_machine_cannot_measure_is_borrowed_and_the_page_says_so(copy: Book, build_here: Here) -> None:
    record(copy)
    lender, own = copy.records / "named" / "tiny.ipynb", copy.notebooks / "tiny.ipynb"
    edit(lender, nbformat.read(lender, as_version=4).metadata[KEY]["environment"]["cpu"], "Lending processor")
    notebook = nbformat.read(own, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [o for o in cell.outputs if stored(o) not in ("tiny.figure", "tiny.sum")]
    nbformat.write(notebook, own)
    edit_both(copy, "tiny", "{machine}`this`", "{machine}`tiny.figure`")
    done = build_here(copy)
    assert done.returncode == 0, done.stdout
    for name, says in (
        ("tiny.html", "measured on another:</span><code>named"),
        ("zh/tiny.html", "另一台机器上测得：</span><code>named"),
    ):
        shown = page(copy, name)
        assert shown.count(says) == 1
        assert shown.count('role="img"') == 1
        assert "Lending processor" in shown[shown.index("<figcaption") :].partition("</figcaption>")[0]


def test_a_citation_leads_to_its_reference_when_another_page_cites_more(copy: Book, build_here: Here) -> None:
    """Anchors in the list of references are numbered; a page that nobody touched holds the number of before."""
    work = "@article{early2025,author={Early, Bea},title={On Order},journal={Journal of Fixtures},year={2025}}\n"
    bib = copy.chapters / "references.bib"
    for cites, name, more in (("tiny2026", "tiny", ""), ("early2025", "machines", work)):
        bib.write_text(more + bib.read_text(encoding="utf-8"), encoding="utf-8")
        for language in copy.languages:
            source = copy.page(language.code, name)
            source.write_text(source.read_text(encoding="utf-8") + f"\n{{cite}}`{cites}`\n", encoding="utf-8")
        done = build_here(copy)
        assert done.returncode == 0, done.stdout
    for folder in ("", "zh/"):
        listed = BeautifulSoup(page(copy, f"{folder}index.html"), "html.parser")
        [link] = BeautifulSoup(page(copy, f"{folder}tiny.html"), "html.parser").select("a[href^='index.html#id']")
        entry = listed.find(id=str(link["href"]).partition("#")[2])
        assert entry is not None
        assert "Tiny" in entry.get_text()


def test_an_unknown_edition_names_those_there_are(copy: Book, build_here: Here) -> None:
    record(copy)
    done = build_here(copy, "nowhere")
    assert done.returncode != 0
    assert "MACHINE=nowhere: no such machine under records/; there are: named" in done.stdout


def test_an_edition_whose_record_is_empty_is_refused_at_once(copy: Book, build_here: Here) -> None:
    record(copy)
    (copy.records / "older").mkdir()
    done = build_here(copy, "older")
    assert done.returncode != 0
    assert "MACHINE=older: its record has no page; there are records with pages of: named" in done.stdout


SMALL = """\
---
jupytext:
  text_representation:
    format_name: myst
kernelspec:
  name: python3
  display_name: Python 3
---

(small)=
# {title}

```{{code-cell}} ipython3
:tags: [hide-input]

from dlperf.records import record

record("small.size", 3)
```

{{glue:text}}`small.size` – {{machine}}`this`
"""


def test_a_page_that_is_younger_than_a_record_is_shown_as_another_machine_has_it(copy: Book, build_here: Here) -> None:
    for language, title in (("en", "A small chapter"), ("zh", "小章")):
        (copy.chapters / language / "small.md").write_text(SMALL.format(title=title), encoding="utf-8")
    toc = copy.root / "_toc.yml"
    toc.write_text(toc.read_text(encoding="utf-8").replace("  - file: tiny\n", "  - file: tiny\n  - file: small\n"))
    assert build_here(copy).returncode == 0
    record(copy)
    newer = copy.records / "newer" / "small.ipynb"
    newer.parent.mkdir()
    notebook = nbformat.read(copy.notebooks / "small.ipynb", as_version=4)
    notebook.metadata["dlperf"]["environment"]["cpu"] = "Zorb 9"
    nbformat.write(notebook, newer)
    done = build_here(copy, "named")
    assert done.returncode == 0, done.stdout
    assert "younger than the record of this machine. What it shows was measured on another: newer" in text_of(
        copy, "small.html"
    )
    assert "本页比本机的记录新，所示结果在另一台机器上测得： newer" in text_of(copy, "zh/small.html")
    assert "3 – Zorb 9" in text_of(copy, "small.html")
    assert "younger" not in text_of(copy, "tiny.html")
    newer.unlink()
    done = build_here(copy, "named")
    assert done.returncode != 0
    assert "MACHINE=named: no record has small, so no edition but this machine's can be shown" in done.stdout
