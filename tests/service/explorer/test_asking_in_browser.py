"""Asking on the page: answers with their words, two ways compared, earlier questions, what goes wrong."""

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, quote

import pytest

from support.browsing import served_home, watched_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.long
QUESTION = "Who is Ludo Straker?"
TOKEN = "a-token-of-some-length"


def open_question(page: "Page", served: str, question: str, **query: str) -> None:
    """Open the address of a question, and wait for all of its answers."""
    told = "&".join(f"{key}={quote(value, safe='')}" for key, value in {"q": question, **query}.items())
    page.goto(f"{served}/#/harbour/ask?{told}")
    answers_of(page, 2 if "compare" in query else 1)


def answers_of(page: "Page", count: int = 1) -> None:
    page.locator("article[data-answered]").nth(count - 1).wait_for(timeout=60_000)


def plain(text: str) -> str:
    return " ".join(text.split())


def test_a_citation_opens_the_document_with_its_words_marked(page: "Page", served: str) -> None:
    page.goto(f"{served}/#/harbour/ask")
    page.get_by_label("Question").fill(QUESTION)
    page.locator("#method").select_option("local")
    page.get_by_label("Question").press("Enter")
    answers_of(page)
    asked = parse_qs(page.url.partition("?")[2])
    assert (asked["q"], asked["method"]) == ([QUESTION], ["local"])
    page.get_by_text("Quotations chosen by rules, no model.").wait_for()
    mark = page.locator("a.cite").nth(1)
    mark.hover()
    words = plain(page.locator("#hover-card mark").inner_text())
    assert words in [plain(one) for one in page.locator(".source mark").all_inner_texts()]
    page.keyboard.press("Escape")
    assert page.locator("#hover-card").is_hidden()
    mark.click()
    page.wait_for_url(re.compile(r"/document/\w+\?cited=\d+-\d+"))
    assert plain(page.locator("main mark.cited").last.inner_text()) == words
    page.go_back()
    answers_of(page)
    assert page.locator("textarea").input_value() == QUESTION


def test_quotations_and_counts_are_not_said_to_be_supported(page: "Page", served: str) -> None:
    """Nor is the nearest passage of a refusal, which its text names, told again as a table."""
    told = {}
    for question, method in (
        (QUESTION, "basic"),
        ("How many documents mention the Valdora?", "sql"),
        ("Where did the crowd bake bread in the Valdora?", "basic"),
    ):
        open_question(page, served, question, method=method)
        told[method, question[:5]] = page.locator("article .support").all_inner_texts()
        assert page.get_by_text("More details").count() == 0
    quoted, counted, refused = told.values()
    assert re.fullmatch(r"(The statement is|All \d+ statements are) quoted word for word\.", quoted[0])
    assert counted == refused == []
    page.get_by_text("The nearest passage is in").wait_for()


def test_a_report_unfolds_down_to_the_words(page: "Page", served: str) -> None:
    open_question(page, served, QUESTION, method="global", level="1")
    source = page.locator(".source").first
    words = plain(source.locator("mark").inner_text())
    source.locator("details.why > summary").click()
    source.get_by_text("report → finding").wait_for()
    tree = source.locator(".steps")
    assert tree.locator("details[open] .kind").all_inner_texts()[:2] == ["report", "finding"]
    for fold in tree.locator("details").all():
        fold.evaluate("node => { node.open = true; }")
    assert any(words in plain(one) for one in tree.locator("mark").all_inner_texts())
    assert tree.locator("a[href*='cited=']").count() > 0


def test_two_ways_are_compared(page: "Page", served: str) -> None:
    open_question(page, served, QUESTION, method="local", compare="global", level="1")
    left, right = page.locator("article").all()
    summary = page.locator(".in-common").inner_text()
    told = re.fullmatch(r"(\d+) statements? in common, (\d+) only in local, (\d+) only in global\.", summary)
    assert told, summary
    common, only_left, only_right = map(int, told.groups())
    counts = [int(cell) for cell in page.locator(".costs tbody tr").first.locator("td").all_inner_texts()]
    assert counts == [common + only_left, common + only_right]
    assert (left.locator(".sentence.alone").count() > 0) == (only_left > 0)
    assert right.locator(".sentence.alone").count() == only_right
    sides = page.locator(".comparison p").nth(1).inner_text()
    alone = [int(count) for count in re.findall(r"(\d+) only in", sides)]
    assert [side.get_by_text("only here", exact=True).count() for side in (left, right)] == alone
    page.set_viewport_size({"width": 390, "height": 844})
    boxes = [side.bounding_box() for side in (left, right)]
    assert boxes[0]
    assert boxes[1]
    assert boxes[1]["y"] > boxes[0]["y"] + boxes[0]["height"]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_earlier_questions_are_kept_here_and_can_be_forgotten(page: "Page", served: str) -> None:
    key = "graphrag_dagster.asked.harbour"
    old = [
        {"question": "<b>Old?</b>", "method": "basic", "level": None, "compare": "", "asked": "2024-05-01"}
    ]
    page.evaluate(
        "([key, value]) => localStorage.setItem(key, value)", [key, json.dumps([*old, {"question": 1}, None])]
    )
    page.goto(f"{served}/#/harbour/ask")
    page.get_by_role("heading", name="Example questions").wait_for()
    assert page.locator(".asked-before a").all_inner_texts() == ["<b>Old?</b>"]
    asked = page.locator(".examples a").first.inner_text()
    page.locator(".examples a").first.click()
    answers_of(page)
    page.get_by_role("link", name="Ask", exact=True).click()
    texts = page.locator(".asked-before a")
    texts.nth(1).wait_for()
    assert texts.all_inner_texts() == [asked, "<b>Old?</b>"]
    texts.last.click()
    page.wait_for_url("**/ask?q=*Old*")
    answers_of(page)
    page.get_by_role("link", name="Ask", exact=True).click()
    page.get_by_role("button", name="Clear").click()
    assert page.evaluate("key => localStorage.getItem(key)", key) == "[]"
    assert page.locator(".asked-before").count() == 0


def test_an_answer_is_asked_once_until_it_is_asked_again(page: "Page", served: str) -> None:
    sent: list[str] = []
    page.on("request", lambda one: sent.append(one.url) if one.url.endswith("/ask") else None)
    open_question(page, served, QUESTION, method="basic")
    page.get_by_role("link", name="Map").click()
    page.locator("nav [aria-current=page]", has_text="Map").wait_for()
    page.go_back()
    answers_of(page)
    assert len(sent) == 1
    page.get_by_role("button", name="Ask again").click()
    page.locator("article:not([data-answered])").or_(page.locator("article[data-answered]")).wait_for()
    answers_of(page)
    page.wait_for_timeout(200)
    assert len(sent) == 2


def test_what_cannot_be_asked_is_told_calmly(page: "Page", served: str) -> None:
    page.goto(f"{served}/#/harbour/ask")
    question = page.get_by_label("Question")
    question.press("Enter")
    page.get_by_text("Enter a question.").wait_for()
    question.fill("Who? " * 900)
    page.get_by_text("4,500 characters; the server accepts 4,000").wait_for()
    question.press("Enter")
    answers_of(page)
    page.get_by_text("the question has 4,499 characters; use at most 4,000").wait_for()
    question.fill("Who? " * 20_000)
    question.press("Enter")
    page.get_by_text("The question is too long: 100,000 characters").wait_for()
    open_question(page, served, QUESTION, method="own-context")
    page.get_by_text("own-context needs a model").wait_for()
    open_question(page, served, QUESTION, method="guess")
    page.get_by_text("there is no search method 'guess'").wait_for()
    open_question(page, served, "How do I cook rice?", method="global")
    page.get_by_text("No answer was found.").wait_for()
    page.get_by_text("no sentence that was read is close enough").wait_for()


def test_what_is_being_typed_stays_where_an_event_comes_late(page: "Page", served: str) -> None:
    page.goto(f"{served}/#/harbour/ask")
    question = page.get_by_label("Question")
    question.fill("Who is")
    page.evaluate("dispatchEvent(new HashChangeEvent('hashchange'))")
    page.wait_for_selector("#main[data-shown=ask]")
    page.keyboard.type(" Ludo?")
    assert question.input_value() == "Who is Ludo?"


def test_rows_of_a_query_are_shown_as_rows(page: "Page", served: str) -> None:
    open_question(page, served, "Which 3 people are most connected?", method="sql")
    page.get_by_text("By a query over the tables of the index").wait_for()
    page.locator("button.cite").nth(1).click()
    source = page.locator(".source:focus")
    assert "row of the table entities" in source.inner_text()
    assert source.locator("a[href*='/entity/']").count() == 1
    page.locator("summary", has_text="How this answer was made").click()
    page.locator("summary", has_text="Query over the tables").click()
    assert "select" in page.locator("pre code").first.inner_text().lower()


def test_the_token_is_asked_for_again_where_it_is_lost(browser: "Browser", harbour_home: Path) -> None:
    with (
        served_home(harbour_home, {"GRAPHRAG_DAGSTER_TOKEN": TOKEN}) as url,
        watched_page(browser, url) as page,
    ):
        page.get_by_label("Token").fill(TOKEN)
        page.keyboard.press("Enter")
        page.locator(".corpus-card").get_by_role("link", name="Ask", exact=True).click()
        page.get_by_role("heading", name="Example questions").wait_for()
        page.context.clear_cookies()
        page.get_by_label("Question").fill(QUESTION)
        page.get_by_role("button", name="Ask").click()
        page.get_by_label("Token").fill(TOKEN)
        page.keyboard.press("Enter")
        answers_of(page)
        assert page.locator("a.cite").count() > 0
