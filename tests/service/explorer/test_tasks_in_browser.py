"""Ten things that a new user wants of the page, with as few clicks as it says. Run with -s to see them listed."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from graphrag_dagster.service.explorer.page_export import export_page
from support.browsing import watched_page
from support.homes import enter_home

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.long
QUESTION = "Why did the ferry Lady Ingrith sink?"


class User:
    """Somebody with a pointer and a keyboard, whose clicks are counted; what is chosen of a list is one, too."""

    def __init__(self, page: "Page") -> None:
        self.page = page
        self.clicks = 0

    def click(self, what: "Locator") -> None:
        what.first.click()
        self.clicks += 1

    def choose(self, label: str, value: str) -> None:
        self.page.get_by_label(label, exact=True).select_option(value)
        self.clicks += 1

    def way_in(self, name: str) -> None:
        self.click(self.page.get_by_role("navigation", name="Main").get_by_role("link", name=name))

    def link(self, name: str) -> None:
        self.click(self.page.get_by_role("main").get_by_role("link", name=name))

    def sees(self, selector: str, text: str = "") -> None:
        self.page.locator(selector, has_text=text).first.wait_for(state="visible")


def who_is_most_connected(user: User) -> None:
    user.click(user.page.get_by_role("button", name="Who is most connected?"))
    user.sees("main", "Kelderwick")


def open_a_report(user: User) -> None:
    user.link("Report")
    user.sees("h2", "Report")


def ask(user: User) -> None:
    user.way_in("Ask")
    user.page.get_by_role("textbox", name="Question").fill(QUESTION)
    user.page.keyboard.press("Enter")
    user.sees("[data-answered]")


def check_a_citation(user: User) -> None:
    ask(user)
    user.click(user.page.locator("[data-answered]").get_by_role("link", name="[1]"))
    user.sees("main[data-shown=document] mark.cited[tabindex]", "Lady Ingrith")


def find_the_sentence(user: User) -> None:
    user.page.get_by_label("Search names and texts").fill("Eoin Scollay")
    user.page.keyboard.press("Enter")
    user.sees("main[data-shown=find]")
    user.link("Eoin Scollay")
    user.sees("main[data-shown=entity] h1", "Eoin Scollay")
    user.click(user.page.locator(".place a"))
    user.sees("main[data-shown=document] mark.cited[tabindex]", "Eoin Scollay")


def compare_two_ways(user: User) -> None:
    user.way_in("Ask")
    user.page.get_by_role("textbox", name="Question").fill(QUESTION)
    user.choose("Method", "local")
    user.choose("Compare with", "global")
    user.page.get_by_role("textbox", name="Question").press("Enter")
    user.sees("main", "in common")


def what_a_document_contributes(user: User) -> None:
    user.way_in("Browse")
    user.link("Documents")
    user.sees("main table")
    user.click(user.page.locator("main table tbody a"))
    user.click(user.page.get_by_role("main").get_by_text("What would change without it"))
    user.sees("main", "would")


def export_a_table(user: User) -> None:
    user.way_in("Browse")
    user.link("Entities")
    with user.page.expect_download() as told:
        user.link("CSV")
    assert "Kelderwick" in Path(told.value.path()).read_text(encoding="utf-8")


def search_a_name(user: User) -> None:
    user.page.get_by_label("Search names and texts").fill("kelderwick")
    user.page.keyboard.press("Enter")
    user.link("Kelderwick")
    user.sees("h1", "Kelderwick")


def read_the_file(user: User) -> None:
    user.link("Report")
    user.sees("h2", "Report")
    user.click(user.page.locator("main a[href*='/entity/']"))
    user.sees("main[data-shown=entity]")


TASKS = {
    "find who is most connected": who_is_most_connected,
    "open a report": open_a_report,
    "ask": ask,
    "ask, and check a citation": check_a_citation,
    "find the sentence that names somebody": find_the_sentence,
    "compare local with global": compare_two_ways,
    "see what a document contributes": what_a_document_contributes,
    "export a table": export_a_table,
    "search a name": search_a_name,
}


@pytest.fixture
def file(harbour_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of the page of the sample corpus in one file."""
    enter_home(monkeypatch, harbour_home)
    return export_page("harbour", tmp_path / "map.html", 5_000_000).file.as_uri()


@pytest.mark.parametrize("task", TASKS)
def test_a_new_user_needs_four_clicks_at_most(page: "Page", task: str) -> None:
    _done(page, task, TASKS[task])


def test_the_file_from_disk_is_read_in_two_clicks(browser: "Browser", file: str) -> None:
    with watched_page(browser, file) as page:
        _done(page, "open the exported file from disk, read on", read_the_file)


def _done(page: "Page", task: str, do: Callable[[User], None]) -> None:
    page.wait_for_selector("#main[data-shown=map]")
    user = User(page)
    do(user)
    sys.stdout.write(f"\n| {task} | {user.clicks} |")
    assert user.clicks <= 4
