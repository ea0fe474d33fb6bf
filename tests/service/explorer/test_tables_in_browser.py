"""Tables that are sorted, filtered and exported; search; what changed between two snapshots."""

import csv
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from graphrag_dagster.cli.job_runner import run_job
from support.browsing import go_to, served_home, watched_page
from support.homes import copy_home, enter_home

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = pytest.mark.long
MOVED = """() => {
    const region = document.querySelector(".data-table");
    window.moved = new Promise((tell) => region.addEventListener("scroll", () => tell(region.scrollLeft)));
}"""
LATER = "Orrin Vask sold the steam yacht Merrow to Lavinia Thorne of Gull Harbour in May 2019."


def _column(page: "Page", place: int) -> list[str]:
    return page.locator(f".data-table tbody tr td:nth-child({place})").all_inner_texts()


def test_a_click_on_a_heading_sorts_and_another_turns_it_round(page: "Page") -> None:
    go_to(page, "harbour/tables")
    page.get_by_role("link", name="Entities", exact=True).click()
    page.wait_for_selector(".data-table tbody tr")
    head = page.get_by_role("columnheader", name="Title")
    head.get_by_role("link").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("th[aria-sort=ascending]")
    titles = _column(page, 1)
    assert titles == sorted(titles, key=str.casefold)
    assert page.evaluate("document.activeElement.dataset.column") == "title"
    page.keyboard.press("Enter")
    page.wait_for_selector("th[aria-sort=descending]")
    assert _column(page, 1)[0].casefold() > titles[0].casefold()
    page.go_back()
    page.wait_for_selector("th[aria-sort=ascending]")
    assert _column(page, 1) == titles


def test_a_filter_is_applied_while_it_is_written_and_can_be_shared(page: "Page") -> None:
    go_to(page, "harbour/tables/documents")
    field = page.get_by_label("Filter")
    field.press_sequentially("candlemas")
    page.get_by_text("contain “candlemas”").wait_for()
    assert page.evaluate("document.activeElement.id") == "filter"
    assert field.input_value() == "candlemas"
    shown = _column(page, 1)
    assert shown
    page.reload()
    page.get_by_text("contain “candlemas”").wait_for()
    assert _column(page, 1) == shown
    field.fill("no row has these")
    page.get_by_role("link", name="Show all rows").click()
    page.wait_for_selector(".data-table tbody tr")
    assert not field.input_value()


def test_the_rows_that_are_shown_are_exported(page: "Page", tmp_path: Path) -> None:
    go_to(page, "harbour/tables/entities?sort=title&filter=ferry")
    titles = _column(page, 1)
    with page.expect_download() as loading:
        page.get_by_role("link", name="Export these rows as CSV").click()
    file = tmp_path / "rows.csv"
    loading.value.save_as(file)
    with file.open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert loading.value.suggested_filename.endswith("entities.csv")
    assert [row["title"] for row in rows] == titles
    assert "entity_id" not in rows[0]


def test_rows_come_a_hundred_at_a_time(page: "Page") -> None:
    go_to(page, "harbour/tables/relationships")
    assert len(_column(page, 1)) == 100
    page.get_by_role("link", name="Later").click()
    page.get_by_text("Rows 101–200 of").wait_for()
    page.get_by_role("link", name="Earlier").click()
    page.get_by_text("Rows 1–100 of").wait_for()
    go_to(page, "harbour/tables/relationships?offset=99900")
    page.get_by_role("link", name="Go to the first rows").click()
    page.get_by_text("Rows 1–100 of").wait_for()


def test_a_wide_table_is_moved_in_its_own_region(browser: "Browser", served: str) -> None:
    phone = {"width": 390, "height": 844}
    with watched_page(browser, served, viewport=phone) as page:
        go_to(page, "harbour/tables/entities")
        region = page.get_by_role("region", name="Entities")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        region.focus()
        page.evaluate(MOVED)
        page.keyboard.press("ArrowRight")
        assert page.evaluate("moved") > 0


def test_the_search_field_finds_names_and_words(page: "Page") -> None:
    page.get_by_role("searchbox", name="Search names and texts").fill("CANDLEMAS gale")
    page.keyboard.press("Enter")
    page.wait_for_selector("#main[data-shown=find]")
    page.get_by_text("Found: 1 entity").wait_for()
    assert page.locator("section", has_text="Entities").locator("mark").all_inner_texts() == [
        "Candlemas",
        "Gale",
    ]
    words = page.locator("section", has=page.get_by_role("heading", name="Passages")).locator(".place").first
    assert words.locator("mark").first.inner_text().casefold() in {"candlemas", "gale"}
    words.get_by_role("link").click()
    page.wait_for_selector(".document-text mark.cited")


def test_what_is_typed_into_the_search_field_while_the_map_still_comes_is_searched_for(
    page: "Page", served: str
) -> None:
    page.wait_for_selector("#main[data-shown]")
    held: list[Route] = []
    page.route("**/corpora/harbour/overview", lambda route: held.append(route))
    with page.expect_request("**/corpora/harbour/overview"):
        page.goto("about:blank")
        page.goto(f"{served}/#/harbour/map", wait_until="commit")
    page.get_by_role("searchbox", name="Search names and texts").fill("CANDLEMAS gale")
    for route in held:
        route.continue_()
    page.wait_for_selector("#main[data-shown=map]")
    page.keyboard.press("Enter")
    page.wait_for_selector("#main[data-shown=find]")


def test_a_search_for_nothing_and_without_success_says_what_to_try(page: "Page") -> None:
    go_to(page, "harbour/find?query=xylophone")
    page.get_by_text("Nothing was found.").wait_for()
    assert page.get_by_role("link", name="all entities").is_visible()
    go_to(page, "harbour/find")
    assert page.get_by_text("Type words into the search field").is_visible()


def test_one_snapshot_has_nothing_to_be_compared_with(page: "Page") -> None:
    go_to(page, "harbour/changes")
    assert page.get_by_text("Only this snapshot is kept").is_visible()


def test_what_a_further_document_changed_is_listed(
    browser: "Browser", indexed_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = enter_home(monkeypatch, copy_home(indexed_home, tmp_path / "grown"))
    (home / "corpora" / "coast" / "news" / "yacht.txt").write_text(LATER, encoding="utf-8")
    run_job("coast")
    with served_home(home) as url, watched_page(browser, url) as page:
        page.set_viewport_size({"width": 390, "height": 844})
        go_to(page, "coast/changes")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        documents = page.locator(".change-counts tr", has_text="Documents").locator("td")
        assert documents.all_inner_texts() == ["1", "0", "0"]
        reports = page.locator("section", has=page.get_by_role("heading", name="Reports"))
        assert "text" in reports.locator("details.changed li").first.inner_text()
        entities = page.locator("section", has=page.get_by_role("heading", name="Entities"))
        entities.locator("details.added").get_by_role("link", name="Lavinia Thorne").click()
        page.wait_for_selector("#main[data-shown=entity]")
        page.go_back()
        page.wait_for_selector("#main[data-shown=changes]")
        page.get_by_label("Before").select_option(index=0)
        page.get_by_role("button", name="Compare").click()
        page.get_by_text("are the same snapshot").wait_for()
        page.get_by_label("After").select_option(index=1)
        page.get_by_role("button", name="Compare").click()
        went = entities.locator("details.removed li", has_text="Lavinia Thorne")
        went.get_by_role("link").wait_for()
        assert documents.all_inner_texts() == ["0", "1", "0"]


def test_a_snapshot_that_is_not_kept_is_told_of(page: "Page") -> None:
    go_to(page, "harbour/changes?before=0123456789abcdef")
    page.get_by_text("no longer exists").wait_for()
    page.get_by_role("link", name="Compare the last two").click()
    page.get_by_text("Only this snapshot is kept").wait_for()
