"""Machines side by side: a reader chooses two to four, and a link to the choice shows the same."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.test_site import NARROW, WIDE

PAGES = "machines.html", "zh/machines.html"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    fresh = browser.new_context(viewport=WIDE)  # type: ignore[arg-type]
    yield fresh.new_page()
    fresh.close()


def heads(page: Page, table: str) -> list[str]:
    return page.eval_on_selector_all(
        f"{table} thead th", "all => all.filter((th) => th.checkVisibility()).slice(1).map((th) => th.innerText)"
    )


def fits(page: Page, table: str) -> bool:
    return page.eval_on_selector(table, "box => box.scrollWidth <= box.clientWidth")


@pytest.mark.parametrize("name", PAGES)
def test_three_machines_are_shown_and_both_tables_fit(page: Page, http_base: str, name: str) -> None:
    page.set_viewport_size(WIDE)
    page.goto(http_base + name)
    expect(page.locator(".dl-choose")).to_be_visible()
    for table in (".dl-environments", ".dl-claims"):
        assert len(heads(page, table)) == 3
        assert fits(page, table)


@pytest.mark.parametrize("base", ["http_base", "file_base"])
def test_the_choice_is_in_the_address_and_in_both_tables(page: Page, base: str, request: pytest.FixtureRequest) -> None:
    page.goto(request.getfixturevalue(base) + PAGES[0])
    box = page.get_by_role("checkbox", name="cpu-2-cores-zen5")
    box.check()
    assert heads(page, ".dl-environments")[-1] == "cpu-2-cores-zen5"
    assert heads(page, ".dl-claims")[-1].endswith("zen5")
    before = heads(page, ".dl-claims")
    assert "zen5" in page.url
    page.goto(page.url)
    assert heads(page, ".dl-claims") == before


def test_fewer_than_two_and_more_than_four_cannot_be_chosen(page: Page, http_base: str) -> None:
    page.goto(f"{http_base}machines.html?machines=cpu-2-cores-zen1,cpu-2-cores-zen4,nobody")
    expect(page.locator(".dl-choose input:checked:disabled")).to_have_count(2)
    for _ in range(2):
        page.locator(".dl-choose input:not(:checked)").first.check()
    expect(page.locator(".dl-choose input:checked")).to_have_count(4)
    assert page.locator(".dl-choose input:not(:checked):enabled").count() == 0


def test_a_choice_of_nobody_is_as_none(page: Page, http_base: str) -> None:
    page.goto(f"{http_base}machines.html?machines=nobody,nowhere")
    expect(page.locator(".dl-choose input:checked")).to_have_count(3)


def test_on_a_phone_two_columns_of_claims_fit(page: Page, http_base: str) -> None:
    page.set_viewport_size(NARROW)
    page.goto(f"{http_base}machines.html?machines=cpu-2-cores-zen1,cpu-2-cores-zen4")
    assert len(heads(page, ".dl-claims")) == 2
    assert fits(page, ".dl-claims")
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


def test_without_a_script_all_are_shown(browser: Browser, http_base: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(http_base + PAGES[0])
    assert page.locator(".dl-choose").is_hidden()
    assert page.locator(".dl-environments thead th").count() > 4
    context.close()
