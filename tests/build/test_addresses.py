"""What the tiny book says of where it is: with no address configured, and with those of a site and a repository."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup

from booktools.book import Book
from tests.conftest import build, copy_tiny_book

SITE, REPOSITORY = "https://example.org/book/", "https://github.com/some/book"


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The tiny book without any address, built in a repository of git's."""
    book = copy_tiny_book(tmp_path_factory.mktemp("plain") / "book")
    (book.root / ".gitignore").write_text("/_build/\n/notebooks/\n__pycache__/\n", encoding="utf-8")
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "all"]):
        subprocess.run(["git", *arguments], cwd=book.root, check=True)
    done = build(book)
    assert done.returncode == 0, done.stdout
    return book


@pytest.fixture(scope="module")
def addressed(plain: Book, tmp_path_factory: pytest.TempPathFactory) -> Book:
    """The same book with both addresses: only what they change is built anew."""
    root = tmp_path_factory.mktemp("addressed") / "book"
    shutil.copytree(plain.root, root)
    path = root / "_config.yml"
    config = yaml.safe_load(path.read_text(encoding="utf-8"))
    config["html"]["baseurl"], config["repository"] = SITE, {"url": REPOSITORY}
    path.write_text(yaml.safe_dump(config, allow_unicode=True), encoding="utf-8")
    done = build(Book(root))
    assert done.returncode == 0, done.stdout
    return Book(root)


def page(book: Book, name: str) -> BeautifulSoup:
    return BeautifulSoup((book.build / "html" / name).read_text(encoding="utf-8"), "html.parser")


def meta(soup: BeautifulSoup) -> dict[str, str]:
    """Returns what the head of a page tells machines, by name."""
    return {
        str(each.get("property") or each.get("name")): str(each["content"]) for each in soup.select("meta[content]")
    }


def links(soup: BeautifulSoup, rel: str) -> dict[str, str]:
    """Returns the links of a kind in the head, by language or type."""
    found = soup.select(f"link[rel={rel}]")
    return {str(each.get("hreflang") or each.get("type") or ""): str(each["href"]) for each in found}


def head(book: Book) -> str:
    found = subprocess.run(["git", "rev-parse", "HEAD"], cwd=book.root, capture_output=True, text=True)
    return found.stdout.strip()[:10]


@pytest.mark.parametrize(("name", "said"), [("tiny.html", "suggest a change"), ("zh/tiny.html", "提出修改")])
def test_without_an_address_nothing_leads_elsewhere(plain: Book, name: str, said: str) -> None:
    soup = page(plain, name)
    assert [a["href"] for a in soup.select("a[href]") if "//" in str(a["href"])] == []
    assert said not in soup.get_text()
    assert links(soup, "canonical") == {}
    assert "og:image" not in meta(soup)
    assert not (plain.build / "html" / "sitemap.xml").exists()
    assert "Sitemap" not in (plain.build / "html" / "robots.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "path"),
    [("tiny.html", "tiny.html"), ("zh/tiny.html", "zh/tiny.html"), ("index.html", ""), ("zh/index.html", "zh/")],
)
def test_with_an_address_a_page_says_where_it_is(addressed: Book, name: str, path: str) -> None:
    soup = page(addressed, name)
    own = path.removeprefix("zh/")
    assert links(soup, "canonical") == {"": SITE + path}
    alternates = links(soup, "alternate")
    assert alternates.pop("application/atom+xml") == "feed.xml"
    assert alternates == {"en": SITE + own, "zh-CN": f"{SITE}zh/{own}", "x-default": SITE + own}
    assert meta(soup)["og:url"] == SITE + path
    picture = meta(soup)["og:image"].removeprefix(SITE)
    assert (addressed.build / "html" / picture).is_file()
    assert meta(soup)["og:description"] == meta(soup)["description"] != ""
    assert meta(soup)["og:title"]


def test_the_map_leads_to_pages_that_are_there(addressed: Book) -> None:
    site = addressed.build / "html"
    assert f"Sitemap: {SITE}sitemap.xml" in (site / "robots.txt").read_text(encoding="utf-8")
    found = [each.text for each in ElementTree.parse(site / "sitemap.xml").iter() if each.tag.endswith("}loc")]
    paths = [str(each).removeprefix(SITE) for each in found]
    assert len(paths) == len(addressed.pages) * len(addressed.languages)
    assert [
        path for path in paths if not (site / (path + "index.html" * path.endswith("/") or "index.html")).is_file()
    ] == []


def test_what_cannot_be_searched_for_is_not_listed(addressed: Book) -> None:
    for name in ("search.html", "404.html", "zh/404.html"):
        assert meta(page(addressed, name))["robots"] == "noindex"
        assert links(page(addressed, name), "canonical") == {}
    assert "robots" not in meta(page(addressed, "tiny.html"))


@pytest.mark.parametrize(("name", "base"), [("404.html", SITE), ("zh/404.html", SITE + "zh/")])
def test_the_page_for_nowhere_starts_from_the_root(addressed: Book, name: str, base: str) -> None:
    tag = page(addressed, name).head.find(["base", "link", "script"])  # type: ignore[union-attr]
    assert (tag.name, tag["href"]) == ("base", base)  # type: ignore[union-attr,index]


@pytest.mark.parametrize("code", ["en", "zh"])
def test_a_page_can_be_opened_elsewhere_and_changed(addressed: Book, code: str) -> None:
    soup = page(addressed, "tiny.html" if code == "en" else f"{code}/tiny.html")
    there = [str(a["href"]) for a in soup.select(".dl-taken a")]
    path = f"notebooks/{code}/tiny.ipynb"
    assert f"https://colab.research.google.com/github/some/book/blob/gh-pages/{path}" in there
    assert f"https://mybinder.org/v2/gh/some/book/gh-pages?labpath={path.replace('/', '%2F')}" in there
    assert f"{REPOSITORY}/edit/main/chapters/{code}/tiny.md" in there
    requirement = f"dlperf @ git+{REPOSITORY}@{head(addressed)}"
    assert requirement in nbformat.read(addressed.build / "html" / path, as_version=4).cells[1].source
    assert (addressed.build / "html" / "binder" / "requirements.txt").read_text(encoding="utf-8") == requirement + "\n"


def test_version_and_commit_stand_in_the_foot(plain: Book, addressed: Book) -> None:
    for name in ("tiny.html", "zh/machines.html"):
        foot = page(plain, name).select_one(".dl-foot")
        assert foot
        assert f"0.1.0 · {head(plain)}" in foot.get_text()
        assert head(plain) + "+" not in foot.get_text()
        assert head(addressed) + "+" in str(page(addressed, name))  # its configuration is not the committed one


def test_two_builds_of_one_commit_are_identical(plain: Book, tmp_path: Path) -> None:
    """The second from nothing, in another folder, and a moment later."""
    root = tmp_path / "again"
    shutil.copytree(plain.root, root, ignore=shutil.ignore_patterns("_build"))
    done = build(Book(root))
    assert done.returncode == 0, done.stdout
    first, second = plain.build / "html", root / "_build" / "html"
    files = {path.relative_to(first) for path in first.rglob("*") if path.is_file()}
    assert files == {path.relative_to(second) for path in second.rglob("*") if path.is_file()}
    assert [str(name) for name in files if (first / name).read_bytes() != (second / name).read_bytes()] == []


def test_the_notebook_is_the_page(plain: Book) -> None:
    """Its numbers are values, its cells the page's, and nothing of the book's own notation is left."""
    notebook = nbformat.read(plain.build / "html" / "notebooks" / "zh" / "tiny.ipynb", as_version=4)
    nbformat.validate(notebook)
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    for left in ("{glue", "{ref}", "{claim}", "{machine}", "```{", ":::"):
        assert left not in text
    assert "共1000个数" in text.replace(" ", "")
    assert "小小一章" in text
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.outputs for cell in code] == [[]] * 3
    assert "# 测量求和的时间。" in code[1].source
    assert 'record("tiny.size", 1000)' in code[1].source


def test_a_page_ends_in_what_is_taken_home(plain: Book) -> None:
    for name, code, words in (("tiny.html", "en", "executed on"), ("zh/tiny.html", "zh", "上执行")):
        line = page(plain, name).select_one("main > .dl-taken")
        assert line
        assert words in line.get_text()
        assert [Path(str(a["href"])).name for a in line.select("a")] == ["tiny.ipynb", "tiny.md"]
        source = plain.build / "html" / "sources" / code / "tiny.md"
        assert source.read_bytes() == plain.page(code, "tiny").read_bytes()
        assert not page(plain, name.replace("tiny", "index")).select(".dl-taken")
        assert not (plain.build / "html" / "notebooks" / code / "machines.ipynb").exists()
