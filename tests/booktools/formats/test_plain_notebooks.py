"""Plain notebooks: the Markdown of a page without MyST, and every page of the book as a notebook."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from packaging.requirements import Requirement

from booktools.formats import plain_notebooks
from booktools.formats.plain_markdown import Markdown
from booktools.formats.plain_notebooks import SETUP, install_line, notebook, wheel_name, write_all, write_language
from booktools.formats.targets import Targets, targets
from booktools.show.catalogue import Catalogue
from booktools.show.edition import labels_of
from booktools.source.book import Book, BookError
from booktools.source.notebook import code_cells
from booktools.source.page import page_at, pages_with_cells
from booktools.source.tokens import code
from dlperf import visible_records
from dlperf.records import PREFIX, bundle
from tests.conftest import ROOT, edit_both

BOOK = Book(ROOT)
PAGES = [(language, page) for language in BOOK.languages for page in pages_with_cells(BOOK)]
FENCE = re.compile(r"^( *(?:> )*)(`{3,}).*?^\1\2 *$", re.S | re.M)


def markdown(**names: str) -> Markdown:
    """Returns what turns a page into Markdown, in English, of a book that has these labels."""
    known = Targets({label.replace("_", "-"): title for label, title in names.items()}, {"eq-1": 3}, {}, frozenset("a"))
    known.sources["he2016"] = ("He 2016", "He, *Deep residual learning*")
    return Markdown(
        "en/page.md",
        known,
        lambda text: text,
        lambda directive: ("python", f"# {directive.argument} {directive.options['pyobject']}\n"),
        lambda language, text: text,
    )


def plain(text: str, **names: str) -> str:
    return markdown(**names).convert(text)


@pytest.mark.parametrize(
    ("myst", "expected"),
    [
        ("took {glue:text}`p.key:.2f` of {given}`95 %`", "took `p.key` of 95 %"),
        ("{glue:text}`p.key.percent`, {here}`p.key.iqr`", "`p.key`, `p.key`"),
        ("{glue:text}`p.key` times as fast{speed}`p.key`.", "`p.key` times as fast."),
        ("a *{term}`speedup`* and {term}`warm-up <预热>`", "a *speedup* and warm-up"),
        ("see {ref}`sec-a` and {ref}`this <sec-a>`", "see A section and this"),
        ("by {eq}`eq-1` {cite}`he2016`", "by (3) [He 2016]"),
        ("on {machine}`this`, {machine}`p.key` or {machine}`h100`", "on this machine, this machine or h100"),
        ("in [words](a.md) and [others](b.md#c) or [here](#d), [there](https://a.org/)",
         "in [words](a.ipynb) and others or here, [there](https://a.org/)"),
        ("gains[, a lot | , nothing]{outcome=p.id} twice", "gains (see the page) twice"),
        ("It gains[ a lot. | nothing.]{outcome=p.id} Then", "It gains (see the page). Then"),
        ("One. [A. | B.]{outcome=p.a} [C. | D.]{outcome=p.b}", "One. (see the page)"),
        ("$$\nx^2\n$$ (eq-1)", "$$\nx^2\n\\tag{3}$$"),
        ("inline $\\{x\\}`$ stays", "inline $\\{x\\}`$ stays"),
        ("(sec-a)=\n# A section\n% a remark\n\ntext", "# A section\n\ntext"),
        ("```python\nf'{name}`x`'  # {ref}`sec-a`\n```", "```python\nf'{name}`x`'  # {ref}`sec-a`\n```"),
        (":::{admonition} In {given}`5` lines\n:class: tip\n\n- one\n\n  two\n:::",
         "> **In 5 lines**\n>\n> - one\n>\n>   two"),
        ("```{claim} p.id\nIt holds.\n\n:::{failed}\nIt did not: {glue:text}`p.key`.\n:::\n```",
         "> **Claim**\n>\n> It holds.\n>\n> **Where it failed**: It did not: `p.key`."),
        ("::::{outcome} p.id\n:::{held}\nYes.\n:::\n:::{not-run}\nWho knows.\n:::\n::::",
         "**Where it held**: Yes.\n\n**Where it could not be run**: Who knows."),
        ("```{exercise}\n:label: ex-1\n\nAdd.\n```", "> **Exercise 1**\n>\n> Add."),
        ("```{solution-start} ex-1\n:class: dropdown\n```", "**Solution: Exercise 1**"),
        ("```{solution-end}\n```", ""),
        ("```{glue:figure} p.fig\n:name: ex-1\n\nA line.\n```", "**Exercise 1** (`p.fig`) A line."),
        ("```{glue} p.table\n```", "`p.table`: shown below the cell that records it"),
        ("```{machines} p.a p.b\n:chart:\n```", "`p.a`, `p.b`: measured on every recorded machine (see the page)"),
        ("- item\n\n  ```{code-block} sh\n  ls\n  ```", "- item\n\n  ```sh\n  ls\n  ```"),
        ("```{literalinclude} ../a.py\n:pyobject: f\n:language: python\n```", "```python\n# ../a.py f\n```"),
        ("```{tree} Questions\n- [A](#a)\n  - b\n```", "**Questions**\n\n- A\n  - b"),
    ],
)  # fmt: skip
def test_myst_becomes_markdown(myst: str, expected: str) -> None:
    assert plain(myst, sec_a="A section", ex_1="Exercise 1") == expected


@pytest.mark.parametrize("text", ["{unheard}`of`", "```{unheard} of\n```", "{ref}`nowhere`"])
def test_what_it_does_not_know_is_an_error_and_not_left_as_it_is(text: str) -> None:
    with pytest.raises(BookError):
        plain(text)


def test_a_page_that_is_published_is_linked() -> None:
    known = markdown()
    found = Markdown("", known.targets, known.say, known.included, known.code, "https://a.org/p.html")
    assert found.convert("so [a | b]{outcome=p.id}") == "so [(see the page)](https://a.org/p.html)"


def test_labels_of_all_pages_are_known_and_numbers_go_on_from_page_to_page() -> None:
    found = targets(BOOK, BOOK.languages[0], lambda text: text)
    assert found.names["measuring-model"] == "What should it take?"
    assert found.names["measuring-ex-asking"] == "Exercise 1"
    last = max(int(name.split()[1]) for label, name in found.names.items() if label.startswith("measuring-ex-"))
    assert found.names["compilers-ex-1"] == f"Exercise {last + 1}"
    assert sorted(found.equations.values()) == list(range(1, len(found.equations) + 1))
    assert len({short for short, _ in found.sources.values()}) == len(found.sources)


def test_the_tiny_page_has_its_cells_between_a_first_one_and_its_text(tiny: Book) -> None:
    made = notebook(tiny, tiny.languages[1], "tiny")
    first, setup = made.cells[:2]
    assert install_line(tiny, "tiny") in first.source
    assert "请先安装" in first.source
    assert setup.source == SETUP
    labels = Catalogue(labels_of(tiny, tiny.languages[1]).path)
    page = page_at(tiny, tiny.page("zh", "tiny")).notebook()
    assert [cell.source for cell in code_cells(made)[1:]] == [
        labels.translate_code(cell.source) for cell in code_cells(page)
    ]
    assert code_cells(made)[1].metadata["jupyter"] == {"source_hidden": True}
    assert code_cells(made)[1].source.startswith("# ")
    assert "# Time a sum." not in code_cells(made)[1].source


def test_a_comment_without_a_translation_is_an_error(tiny: Book) -> None:
    edit_both(tiny, "tiny", "1 + 2", "1 + 2  # purple elephants")
    with pytest.raises(BookError, match="purple elephants"):
        notebook(tiny, tiny.languages[1], "tiny")


def test_it_installs_from_the_repository_where_one_is_configured(tiny: Book) -> None:
    assert f'"./{wheel_name()}"' in install_line(tiny, "tiny")
    assert '"torch>=' in install_line(tiny, "tiny")
    tiny.config["repository"] = {"url": "https://a.org/book/"}
    assert '"dlperf @ git+https://a.org/book"' in install_line(tiny, "tiny")


def test_where_it_runs_elsewhere_everything_is_installed_from_the_repository(tiny: Book, tmp_path: Path) -> None:
    assert "Colab" not in notebook(tiny, tiny.languages[0], "tiny").cells[0].source
    write_all(tiny, tmp_path / "without")
    assert not (tmp_path / "without" / "binder").exists()
    tiny.config["repository"] = {"url": "https://github.com/owner/name"}
    assert "On Colab, put the line into a cell" in notebook(tiny, tiny.languages[0], "tiny").cells[0].source
    write_all(tiny, tmp_path / "with")
    binder = tmp_path / "with" / "binder"
    lines = (binder / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert Requirement(lines[0]).url == "git+https://github.com/owner/name"
    assert {"torch", "jupyterlab"} <= {Requirement(line).name for line in lines[1:]}
    assert (binder / "apt.txt").read_text(encoding="utf-8") == "g++\n"


def test_it_installs_what_the_page_imports() -> None:
    assert "[hardware,kvstore]" in install_line(BOOK, "servers")
    assert " jax " in install_line(BOOK, "parallel")
    assert " jax " not in install_line(BOOK, "slow")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of every page of the book as a plain notebook, in a folder for each language."""
    folder = tmp_path_factory.mktemp("notebooks")
    for language in BOOK.languages:
        write_language(BOOK, language, folder / language.code)
    return folder


@pytest.mark.parametrize(("language", "page"), PAGES, ids=[f"{language.code}-{page}" for language, page in PAGES])
def test_every_page_is_a_notebook_without_outputs_and_without_myst(written: Path, language: object, page: str) -> None:
    path = written / language.code / f"{page}.ipynb"  # type: ignore[attr-defined]
    made = nbformat.read(path, as_version=4)
    nbformat.validate(made)
    source = page_at(BOOK, BOOK.page(language.code, page)).notebook()  # type: ignore[attr-defined]
    assert [code(cell.source) for cell in code_cells(made)[1:]] == [code(cell.source) for cell in code_cells(source)]
    assert not any(cell.outputs for cell in code_cells(made))
    for cell in made.cells:
        if cell.cell_type == "markdown":
            prose = FENCE.sub("", cell.source)
            assert not re.search(r"\{[\w:-]+\}`|\{outcome=|^\s*[:`]{3,}\{|^\(\S+\)=$|^%", prose, re.M), prose


def test_main_says_where_they_lie_and_clears_the_folder(
    tiny: Book, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tiny.root)
    monkeypatch.setattr("booktools.formats.wheel.write_wheel", lambda folder: wheel)
    wheel = tiny.root / "a.whl"
    wheel.touch()
    left = tiny.build / "notebooks" / "en" / "left.ipynb"
    left.parent.mkdir(parents=True)
    left.touch()
    assert plain_notebooks.main() == 0
    assert "_build/notebooks/zh/tiny.ipynb" in capsys.readouterr().out
    assert not left.exists()
    assert (tiny.build / "notebooks" / "zh" / "a.whl").is_file()


# --- what a cell records, in a plain notebook ---


def shown(key: str, value: object) -> dict[str, object]:
    """Returns what a notebook shows of each of a record's messages, by key."""
    found = {}
    for name, data in bundle(key, value).items():
        prefixed = {PREFIX + mime: content for mime, content in data.items()}
        content = {"data": prefixed, "metadata": {"scrapbook": {"name": name}}}
        found[name] = visible_records.show({"msg_type": "display_data", "content": content})
    return {name: message["content"]["data"] for name, message in found.items() if message}


def test_values_are_shown_after_their_key_and_once() -> None:
    assert shown("p.ratio", 1.5) == {"p.ratio": {"text/plain": "p.ratio = 1.5"}}


def test_figures_and_tables_are_shown_as_such() -> None:
    from dlperf.plot import Table, figure

    fig, _ = figure()
    assert str(shown("p.fig", fig)["p.fig"]["image/svg+xml"]).count("<svg") == 1  # type: ignore[index]
    assert "<table" in shown("p.table", Table(["a"], [[1]]))["p.table"]["text/html"]  # type: ignore[index]


def test_other_messages_pass_and_outside_a_notebook_nothing_happens() -> None:
    message = {"msg_type": "display_data", "content": {"data": {"text/plain": "1"}, "metadata": {}}}
    assert visible_records.show(message) is message
    visible_records.enable()
