"""The frame of the page: ways in, light and dark, keyboard, login."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.browsing import served_home, watched_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.long
TOKEN = "a-token-of-some-length"


def test_every_way_in_is_a_click_away(page: "Page") -> None:
    for name, address in (("Ask", "ask"), ("Browse", "tables"), ("Map", "map")):
        page.get_by_role("navigation", name="Main").get_by_role("link", name=name).click()
        page.wait_for_url(f"**/#/harbour/{address}")
        page.locator("nav [aria-current=page]", has_text=name).wait_for()


def test_light_and_dark_are_chosen_and_kept(page: "Page") -> None:
    page.get_by_role("button", name="Dark").click()
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.reload()
    page.get_by_role("button", name="Light").wait_for()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == ground
    page.get_by_role("button", name="Light").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != ground


def test_a_corpus_that_is_not_there_is_told_calmly(page: "Page", served: str) -> None:
    page.goto(f"{served}/#/nothing/map")
    page.get_by_role("heading", name="Corpus not found").wait_for()


def test_the_token_is_asked_for_once(browser: "Browser", harbour_home: Path) -> None:
    with (
        served_home(harbour_home, {"GRAPHRAG_DAGSTER_TOKEN": TOKEN}) as url,
        watched_page(browser, url) as page,
    ):
        page.get_by_label("Token").fill("not the token of it")
        page.get_by_role("button", name="Enter").click()
        page.get_by_text("Wrong token").wait_for()
        page.get_by_label("Token").fill(TOKEN)
        page.keyboard.press("Enter")
        page.get_by_role("heading", name="harbour").wait_for()
        page.reload()
        page.get_by_role("link", name="Ask").wait_for()
        assert page.evaluate("document.cookie") == ""
