"""The first page: a card for each corpus, and what stands there where there is none."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.browsing import served_home, watched_page
from support.corpora import write_corpus
from support.homes import copy_home

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = pytest.mark.long


def card(page: "Page", corpus: str) -> "Locator":
    return page.locator(".corpus-card", has=page.get_by_role("heading", name=corpus, exact=True))


def test_a_card_says_what_a_corpus_holds(browser: "Browser", served: str) -> None:
    with watched_page(browser, served) as page:
        page.wait_for_selector("#main[data-shown=corpora]")
        shown = card(page, "harbour")
        overview = page.request.get(f"{served}/corpora/harbour/overview").json()
        terms = dict(
            zip(
                shown.locator("dt").all_inner_texts(),
                shown.locator("dd").all_inner_texts(),
                strict=True,
            )
        )
        counts = overview["counts"]
        assert {name: terms[name] for name in ("Documents", "Entities", "Communities", "Engine")} == {
            "Documents": str(counts["documents"]),
            "Entities": str(counts["entities"]),
            "Communities": str(counts["communities"]),
            "Engine": "without a model",
        }
        assert terms["Last indexed"].split()[-1] == overview["published"][:4]
        assert "invented harbour town" in shown.locator(".about").inner_text()
        shown.get_by_text("Not read: 2 files").click()
        listed = shown.locator(".not-read li").all_inner_texts()
        assert listed == [f"{one['path']}: {one['reason']}" for one in overview["unread"]]
        shown.get_by_role("heading", name="harbour").get_by_role("link").click()
        page.wait_for_selector("#main[data-shown=map]")
        page.get_by_role("link", name="Explorer").click()
        page.wait_for_selector("#main[data-shown=corpora]")


def test_a_question_to_try_is_asked_by_a_click(browser: "Browser", served: str) -> None:
    with watched_page(browser, served) as page:
        questions = page.locator(".to-try a")
        questions.nth(2).wait_for()
        texts = questions.all_inner_texts()
        overview = page.request.get(f"{served}/corpora/harbour/overview").json()
        assert texts == overview["questions"][:3]
        for number, text in enumerate(texts):
            questions.nth(number).click()
            page.locator("article[data-answered=answered]").wait_for(timeout=60_000)
            assert page.locator("textarea").input_value() == text
            assert page.locator("a.cite").count() > 0, text
            page.get_by_role("link", name="Explorer").click()
            questions.nth(2).wait_for()


def test_a_corpus_without_an_index_says_how_to_make_it(
    browser: "Browser", indexed_home: Path, tmp_path: Path
) -> None:
    home = copy_home(indexed_home, tmp_path / "two")
    write_corpus(home / "corpora", "old papers")
    with served_home(home) as url, watched_page(browser, url) as page:
        told = card(page, "old papers")
        told.get_by_text("graphrag-dagster index 'old papers'").wait_for()
        assert told.get_by_role("link").count() == 0
        card(page, "coast").get_by_text("Questions to try").wait_for()
        assert card(page, "coast").locator(".not-read").count() == 0


def test_where_there_is_no_corpus_the_first_commands_are_told(browser: "Browser", tmp_path: Path) -> None:
    with served_home(tmp_path) as url, watched_page(browser, url) as page:
        page.get_by_role("heading", name="There are no corpora yet").wait_for()
        commands = page.locator("pre.command").all_inner_texts()
        assert commands == ["graphrag-dagster demo", "graphrag-dagster index FOLDER"]
        write_corpus(tmp_path / "corpora", "coast")
        page.get_by_role("button", name="Look again").click()
        card(page, "coast").get_by_text("graphrag-dagster index coast").wait_for()
