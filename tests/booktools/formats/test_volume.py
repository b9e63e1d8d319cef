"""Pages as one book: ids, links, what is left out, the solutions behind the chapters, and the cover."""

from __future__ import annotations

from bs4 import BeautifulSoup, Tag

from booktools.formats.volume import headings
from tests.booktools.formats.small import small_volume


def whole(address: str = "") -> BeautifulSoup:
    """Returns all of the book."""
    volume = small_volume(address)
    return BeautifulSoup("".join(map(str, (volume.cover, *volume.chapters.values()))), "html.parser")


def words(soup: Tag, selector: str) -> list[str]:
    return [" ".join(each.get_text().split()) for each in soup.select(selector)]


def test_no_id_stands_twice_and_no_link_within_leads_nowhere() -> None:
    soup = whole()
    ids = [tag["id"] for tag in soup.find_all(id=True)]
    assert len(ids) == len(set(ids))
    assert {"one.id1", "two.id1"} <= set(ids)
    targets = [link["href"][1:] for link in soup.find_all("a", href=True) if link["href"].startswith("#")]
    assert targets
    assert set(targets) <= set(ids)


def test_links_between_pages_lead_within_and_others_stay_or_are_words() -> None:
    soup = whole()
    hrefs = {link.get_text(): link["href"] for link in soup.select("article a")}
    assert hrefs["the first"] == "#one"
    assert hrefs["the second"] == "#two.id1"
    assert hrefs["over"] == "#two.two-b"
    assert hrefs["up"] == hrefs["this"] == "#one.id1"
    assert hrefs["out"] == "https://example.org/x"
    for said in ("search", "verdict"):  # another page of the site; what was left out
        assert said not in hrefs
        assert said in soup.get_text()


def test_what_the_site_holds_is_linked_where_it_stands_on_the_web() -> None:
    links = [link["href"] for link in whole("https://example.org/book/").select("article a")]
    assert "https://example.org/book/search.html" in links


def test_what_names_an_id_in_a_drawing_still_does() -> None:
    drawing = whole().select_one("figure svg")
    assert drawing is not None
    assert drawing["aria-labelledby"] == "two.t two.u"
    assert drawing.path["clip-path"] == "url(#two.c)"  # type: ignore[index]
    assert drawing.use["xlink:href"] == "#two.u"  # type: ignore[index]


def test_solutions_are_the_last_chapter_and_exercise_and_solution_lead_to_each_other() -> None:
    soup = whole()
    last = soup.select("article")[-1]
    assert words(last, "h1, h2, h3") == ["Solutions", "One", "Solution to Exercise 1"]
    (exercise,) = soup.select(".exercise")
    assert exercise.find_next_sibling().a["href"] == "#one.one-solution-1"  # type: ignore[union-attr,index]
    solution = soup.find(id="one.one-solution-1")
    assert isinstance(solution, Tag)
    assert solution.find_parent("article") is last
    assert solution.select_one(".dl-to a")["href"] == "#one.one-ex-1"  # type: ignore[index]
    assert [each.get_text() for each in solution.find_all("p")] == ["Exercise on page ", "Done, by this."]
    assert words(soup, ".dl-to") == ["Solution on page", "Exercise on page"]


def test_code_that_only_records_verdicts_of_machines_and_what_is_pressed_are_left_out() -> None:
    soup = whole()
    assert not soup.select(".cell, details, summary, pre, .headerlink, .dl-begin")
    assert words(soup, ".dl-claim") == ["It holds.held on 2"]


def test_the_cover_has_title_and_opening_and_the_first_page_becomes_a_chapter() -> None:
    volume = small_volume()
    assert volume.title == "A Book"
    assert words(volume.cover, "h1, .dl-opening") == ["A Book", "Opening."]
    assert words(volume.cover, "footer p")[:2] == ["© A", "Text: free."]
    assert not words(volume.chapters["index"], ".dl-opening")
    assert [headings(each, 1)[0].text for each in volume.chapters.values()] == [
        *("About this book", "One", "Two", "Solutions"),
    ]


def test_headings_know_their_level_and_where_a_link_finds_them() -> None:
    found = [(each.level, each.id, each.html, each.text) for each in headings(small_volume().chapters["one"], 2)]
    assert found == [
        (1, "one.one", "One", "One"),
        (2, "one.one-a", "A &amp; B", "A & B"),
        (2, "one.one-exercises", "Exercises", "Exercises"),
    ]
