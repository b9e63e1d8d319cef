"""What a machine tells of itself is a name in every language: pages built from machines that nobody has."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup, Tag

from booktools.claims.limits import Former, Registered, register, registered, write
from booktools.source.book import Book
from booktools.source.kernel import KEY
from booktools.source.keys import stored
from booktools.source.notebook import code_cells
from dlperf.records import MIME, PREFIX
from tests.build.conftest import Shared, copy_of
from tests.conftest import build
from tests.machines import MADE_UP, WORDS, add_machines

PAGES = ("tiny.html", "machines.html")


@pytest.fixture(scope="session")
def edition(built: Book, shared: Shared) -> Book:
    """The tiny book as a made-up machine with GPUs shows it, beside all others."""

    def make(folder: Path) -> None:
        book = copy_of(built, folder)
        fix_measurements(book.notebooks)
        add_machines(book, book.notebooks)
        outdate(book, "quux", "outdated")
        register(book, "")
        now = registered(book)
        former = (
            Former("r['tiny.sum'].median > 1", "2026-01-02", "a second was too long", "1 s", "0.5 s", "quux"),
            Former("r['tiny.sum'].median > 1.0", "2026-01-02", "the same figure", "1 s", "0.5 s", "quux"),
            Former("r['tiny.sum'].median > 0.0", "2026-02-03", "another way to write it"),
        )
        changed = {"tiny.positive": former, "tiny.large": former[:2], "tiny.gpu": former[2:]}
        write(book, now | {name: Registered(now[name].predicate, then) for name, then in changed.items()})
        done = build(book, MACHINE="frobnicator")
        assert done.returncode == 0, done.stdout

    return Book(shared("made-up", make) / "book")


def fix_measurements(folder: Path) -> None:
    """Gives every measurement of the notebooks in ``folder`` three samples of its unit.

    A verdict says that it is close to its limit where the samples spread widely, as they do on a busy machine.
    """
    for path in folder.glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        for cell in code_cells(notebook):
            for output in filter(stored, cell.outputs):
                if measured := output.data.get(PREFIX + MIME, {}).get("measurement"):
                    measured["samples"] = [1.0, 1.5, 2.0]
        nbformat.write(notebook, path)


def outdate(book: Book, machine: str, name: str) -> None:
    """Records ``machine`` once more, under another name, as if its cells had been changed since."""
    shutil.copytree(book.records / machine, book.records / name)
    for path in (book.records / name).glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        notebook.metadata[KEY]["fingerprint"]["cells"] = "others"
        nbformat.write(notebook, path)


def soup(book: Book, page: str) -> BeautifulSoup:
    return BeautifulSoup((book.build / "html" / page).read_text(encoding="utf-8"), "html.parser")


@pytest.mark.parametrize("page", [*PAGES, *(f"zh/{page}" for page in PAGES)])
def test_what_a_machine_tells_is_marked_as_a_name(edition: Book, page: str) -> None:
    whole = soup(edition, page)
    for apart in whole.select('[translate="no"], .cell_input'):
        apart.decompose()
    said = [whole.get_text(" ")]
    said += [str(value) for tag in whole.find_all(True) if isinstance(tag, Tag) for value in tag.attrs.values()]
    assert [word for word in [*WORDS, "Zorbfs"] if word in " ".join(said)] == []


@pytest.mark.parametrize("language", ["", "zh/"])
def test_and_it_is_shown(edition: Book, language: str) -> None:
    names = " ".join(name.get_text() for name in soup(edition, f"{language}machines.html").select('[translate="no"]'))
    for told in MADE_UP.values():
        values = (text for value in told.values() for text in (value if isinstance(value, list) else [value]))
        assert [
            text for text in values if isinstance(text, str) and text not in names and text != told.get("cuda")
        ] == []
    assert soup(edition, f"{language}tiny.html").select_one('td[translate="no"]').get_text() == "Zorbfs on a Whatsit"  # type: ignore[union-attr]


NAMES = "Frobnicator X1 80GB Superduper; Frobnicator Mini; Gizmo Doodad, Octa-core & Friends <fast>"


@pytest.mark.parametrize(
    ("page", "machine", "speed"),
    [
        (
            "tiny.html",
            f"Measured on: {NAMES}, 96 cores.",
            "Short benchmarks before and after this page took up to 2.5 times as long as at this machine's best.",
        ),
        (
            "zh/tiny.html",
            f"测量机器：{NAMES}，96核。",
            "本页测量前后各做了几项短基准测试，用时最多达本机最快时的2.5倍。",
        ),
    ],
)
def test_the_foot_says_what_measured_a_page_and_whether_it_was_itself(
    edition: Book, page: str, machine: str, speed: str
) -> None:
    lines = [" ".join(line.get_text().split()) for line in soup(edition, page).select(".dl-foot p")]
    assert lines[:2] == [machine, speed]


def test_machines_side_by_side_tell_it_of_all_their_pages_and_a_page_without_cells_of_none(edition: Book) -> None:
    whole = soup(edition, "machines.html")
    rows = {row.select("td")[0].get_text(): row for row in whole.select(".dl-environments tr") if row.select("td")}
    row = next(cells for name, cells in rows.items() if name.startswith("short benchmarks"))
    assert row.select("td")[1].get_text() == "2.5"
    assert "Measured on" not in whole.select_one(".dl-foot").get_text()  # type: ignore[union-attr]


def test_the_words_around_a_name_are_the_language_s(edition: Book) -> None:
    """Only the name is one: the number of cores, and a page's cells among what changed, are said in Chinese."""
    verdicts = soup(edition, "zh/tiny.html").select_one(".dl-verdicts")
    assert verdicts
    assert "Thingamajig，1核" in verdicts.get_text()
    assert "@ 2.50GHz zorblake，6核" in verdicts.get_text()  # another has a processor of that name
    assert all("核" not in name.get_text() for name in verdicts.select('[translate="no"]'))


def test_a_verdict_unfolds_to_each_machine_and_the_limits_that_it_had(edition: Book) -> None:
    folded, chinese = (
        soup(edition, page).select_one("#claim-tiny-positive details") for page in ("tiny.html", "zh/tiny.html")
    )
    assert folded
    assert chinese
    summary = folded.select_one("summary")
    assert summary
    assert " ".join(summary.get_text().split()) == "✓ held here; elsewhere it held on 3 of 3"
    assert len(folded.select("li")) == 4
    assert "outdated" not in folded.get_text()
    limit = folded.select_one(".dl-limit")
    assert limit
    assert limit.get_text() == (
        "limit: from theory; until 2026-01-02 the limit was 1 s, and was changed after quux had measured 0.5 s"
        "; it holds by construction: only a fault can fail it"
    )
    assert "；2026-01-02之前界限为1 s，在quux上测得0.5 s后修改" in chinese.get_text()


def test_what_is_stale_stands_on_the_page_of_machines_alone(edition: Book) -> None:
    table = soup(edition, "machines.html").select_one(".dl-claims")
    assert table
    judged = [cell.get_text() for cell in table.select("thead th")], table.select("tbody tr")[0].select("td")
    column = next(number for number, name in enumerate(judged[0]) if "outdated" in name)
    assert judged[1][column].get_text() == "○ stale"


def test_an_outcome_whose_limit_failed_shows_what_it_was(edition: Book) -> None:
    (line,) = soup(edition, "machines.html").select(".dl-moved li")
    said = "tiny.large; until 2026-01-02 the limit was 1 s, and was changed after quux had measured 0.5 s"
    assert line.get_text().strip() == said
    (chinese,) = soup(edition, "zh/machines.html").select(".dl-moved li")
    assert "2026-01-02之前界限为1 s" in chinese.get_text()


def test_the_score_counts_predictions_of_every_machine(edition: Book) -> None:
    rows = soup(edition, "machines.html").select(".dl-score tbody tr")
    assert [[cell.get_text(strip=True) for cell in row.select("td")] for row in rows] == [
        ["A tiny chapter", "", "4", "0%", "100%", "100%"],
        ["all chapters", "", "4", "0%", "100%", "100%"],
    ]
    assert len(rows[0].select(".dl-strip i")) == 4
    missed = soup(edition, "zh/machines.html").select(".dl-missed tbody tr")
    assert [row.select("td")[2].get_text() for row in missed] == ["1.10"] * 4
    assert missed[0].select_one("a")["href"] == "tiny.html#tiny-measure"  # type: ignore[index]


@pytest.mark.parametrize("language", ["", "zh/"])
def test_the_machine_that_a_page_shows_is_judged_first(edition: Book, language: str) -> None:
    judged = [each.get_text() for each in soup(edition, f"{language}tiny.html").select_one(".dl-verdicts").select("li")]
    assert len(judged) == len(MADE_UP)
    assert "frobnicator" in judged[0]
