"""Entities, communities and documents: from a name to the very words, and back."""

from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from graphrag_dagster.kernel.storage.published import publish
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from support.browsing import go_to, served_home, watched_page
from support.homes import enter_home
from support.published_graphs import MadeGraph, document_id, entity_id, publish_graph

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.long
WINDOW = 50_000


def _first(page: "Page", corpus: str, table: str) -> str:
    path = f"/corpora/{corpus}/tables/{table}?limit=1"
    return str(page.evaluate("async (path) => (await (await fetch(path)).json()).rows[0][0]", path))


def _in_the_middle(page: "Page", selector: str) -> bool:
    box = page.locator(selector).bounding_box()
    assert box is not None
    return bool(box["y"] > 0 and box["y"] + box["height"] < page.evaluate("innerHeight"))


def test_a_mention_opens_the_document_at_the_words(page: "Page") -> None:
    go_to(page, f"harbour/entity/{_first(page, 'harbour', 'entities')}")
    name = page.locator("h1").inner_text()
    place = page.locator(".place").nth(3)
    assert place.locator("mark").inner_text() == name
    place.get_by_role("link").click()
    page.wait_for_selector("#main[data-shown=document]")
    cited = page.locator(".document-text mark.cited")
    assert cited.inner_text() == name
    page.wait_for_selector("mark.cited:focus")
    assert _in_the_middle(page, ".document-text mark.cited")
    page.go_back()
    page.wait_for_selector("#main[data-shown=entity]")
    assert page.locator("h1").inner_text() == name


def test_all_places_and_the_way_to_them_unfold(page: "Page") -> None:
    go_to(page, f"harbour/entity/{_first(page, 'harbour', 'entities')}")
    named = page.locator("section", has=page.get_by_role("heading", name="Mentions"))
    more = named.get_by_role("button", name="more")
    while more.count():
        shown = named.locator("figure").count()
        more.click()
        named.locator("figure").nth(shown).wait_for()
    told = page.get_by_role("button", name="Mentions").inner_text()
    assert f"({named.locator('figure').count()})" in told
    page.get_by_role("button", name="Where it comes from").click()
    page.locator(".steps details.step .step-head", has_text="found in").first.click()
    page.locator(".steps figure mark").first.wait_for()


def test_what_a_report_cites_is_a_click_away(page: "Page") -> None:
    go_to(page, f"harbour/community/{_first(page, 'harbour', 'communities')}")
    assert page.get_by_text("without a model: quotations, chosen by rules").is_visible()
    segment = page.locator(".report .summary bdi").first.inner_text().strip()
    page.locator(".report .summary a.cite").first.click()
    page.wait_for_selector("#main[data-shown=document]")
    assert segment in " ".join(page.locator(".document-text mark.cited").inner_text().split())


def test_marks_of_a_text_are_links_that_can_be_turned_off(page: "Page") -> None:
    go_to(page, f"harbour/document/{_first(page, 'harbour', 'documents')}")
    text = page.locator(".document-text")
    words, marks = text.inner_text(), text.locator("a.named").count()
    assert marks > 20
    page.get_by_label("entities: ").uncheck()
    assert text.locator("a").count() == 0
    assert text.inner_text() == words
    page.reload()
    page.wait_for_selector("#main[data-shown]")
    assert text.locator("a").count() == 0
    page.get_by_label("entities: ").check()
    assert text.locator("a.named").count() == marks
    named = text.locator("a.named").first
    title = named.get_attribute("title")
    named.click()
    page.wait_for_selector("#main[data-shown=entity]")
    assert page.locator("h1").inner_text() == title


def test_what_would_change_without_a_document_is_told_when_asked(page: "Page") -> None:
    go_to(page, f"harbour/document/{_first(page, 'harbour', 'documents')}")
    assert page.get_by_text("only this document mentions them").count() == 0
    page.get_by_role("button", name="What would change without it").click()
    page.get_by_text("only this document mentions them").wait_for()
    page.get_by_text("Entities that would be removed").click()
    assert page.locator(".impact details[open] a").first.is_visible()


@pytest.mark.parametrize("kind", ["entity", "community", "document", "tables"])
def test_what_has_gone_is_told_with_ways_on(page: "Page", kind: str) -> None:
    go_to(page, f"harbour/{kind}/gone-since-long")
    assert "is not in the current snapshot" in page.locator("h1").inner_text()
    page.get_by_role("link", name="Search for it").click()
    page.get_by_text("Type words into the search field").wait_for()


@pytest.fixture
def odd_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home with names and texts that are hard to show."""
    enter_home(monkeypatch, tmp_path)
    folder = tmp_path / "corpora" / "odd"
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("Nothing.", encoding="utf-8")
    warehouse = Warehouse()
    publish_graph(MadeGraph(1_000), "odd", warehouse)
    entities = warehouse.read(tables.ENTITIES, "odd")
    names = ["A" * 4_000, "إبراهيم بن عبد الله", "Z̸̢͎̺͑̐a̷̬̎l̶̳̊g̵͚̈́o̵̞͒" * 50]
    titles = pl.Series([*names, *entities["title"][len(names) :]])
    warehouse.write(tables.ENTITIES, "odd", entities.with_columns(title=titles))
    publish(warehouse, "odd")
    return tmp_path


def test_names_that_are_hard_to_show_stay_on_the_page(browser: "Browser", odd_home: Path) -> None:
    phone = {"width": 390, "height": 844}
    with served_home(odd_home) as url, watched_page(browser, url, viewport=phone) as page:
        for address in (*(f"entity/{entity_id(n)}" for n in range(3)), "tables/entities", "find?query=AAAA"):
            go_to(page, f"odd/{address}")
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), address
        go_to(page, f"odd/entity/{entity_id(0)}")
        assert len(page.locator("h1").inner_text()) < 200
        page.get_by_role("button", name="more of the name").click()
        assert page.get_by_text("A" * 4_000, exact=True).is_visible()


def test_a_long_text_is_read_in_windows(browser: "Browser", odd_home: Path) -> None:
    with served_home(odd_home) as url, watched_page(browser, url) as page:
        document = document_id(0)
        go_to(page, f"odd/document/{document}")
        text = page.locator(".document-text")
        beginning = text.inner_text()
        assert len(beginning) <= WINDOW
        page.get_by_role("link", name="Later").first.click()
        page.wait_for_url(f"**start={WINDOW}")
        page.get_by_text(f"Characters {WINDOW + 1:,}–").first.wait_for()
        assert text.inner_text() != beginning
        page.get_by_role("link", name="Earlier").first.click()
        page.get_by_text("Characters 1–").first.wait_for()
        assert text.inner_text() == beginning
        go_to(page, f"odd/document/{document}?cited={WINDOW + 1_000}-{WINDOW + 1_050}")
        assert len(text.locator("mark.cited").inner_text()) == 50
        page.wait_for_selector("mark.cited:focus")
        go_to(page, f"odd/document/{document}?cited={WINDOW + 1_000}-{WINDOW + 1_050}&start=0")
        page.get_by_role("link", name="show them").click()
        text.locator("mark.cited").wait_for()
        go_to(page, f"odd/document/{document}?start=99999999")
        page.get_by_role("link", name="Go to the start").click()
        page.get_by_text("Characters 1–").first.wait_for()
