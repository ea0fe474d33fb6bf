"""Answers of a model on the page: as they come, stopped, broken off, unsupported, hostile."""

import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from support.asked_home import answering_endpoint, write_asked_home
from support.browsing import served_home, watched_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.long
_ROW = re.compile(r"\\n(\d+)\|")
_LONG = " ".join(f"Sentence {number} of a long answer goes on." for number in range(200))
HOSTILE = """Hanna Quill led the Dockers Union. MARK

<script>window.harmed = 1</script> <img src=x onerror="window.harmed = 1"> &lt;b&gt;

[click](javascript:window.harmed=1) [this](data:text/html,<script>window.harmed=1</script>) [file](file:///etc/passwd)
[good](https://example.org/?a=1&b=2 "title") ![drawn](https://example.org/a.png) <https://example.org/auto>

| <i>one</i> | two |
| --- | --- |
| **a** | `b|c` |

```html
<iframe src="https://example.org"></iframe>
```

- [ ] *x* <svg onload=window.harmed=1>
"""


def _mark(messages: str) -> str:
    """The mark of the source whose text says who led the union."""
    before = messages.rpartition("-----Sources")[2].partition("Hanna Quill led")[0]
    rows = _ROW.findall(before)
    return f"[Data: Sources ({rows[-1]})]" if rows else ""


def _answer(messages: str) -> str:
    mark = _mark(messages)
    if "hostile to" in messages:
        return HOSTILE.replace("MARK", mark)
    if "long story" in messages:
        return f"{mark}\n\n{_LONG}"
    return (
        f"Hanna Quill led the **Dockers Union**. {mark} She was born on the Moon in 1066. {mark} "
        "The sea is salt. [LLM: verify]"
    )


@pytest.fixture
def asked_home(tmp_path: Path, indexed_home: Path) -> Iterator[Path]:
    """A home whose corpus ``coast`` is answered by a model: at once, but for its long answer of a minute."""
    with answering_endpoint(_answer, seconds_per_token=0.03) as endpoint:
        yield write_asked_home(indexed_home, tmp_path, endpoint)


@pytest.fixture
def asked(browser: "Browser", asked_home: Path) -> Iterator["Page"]:
    with served_home(asked_home) as url, watched_page(browser, f"{url}/#/coast/ask") as page:
        yield page


def ask(page: "Page", question: str, method: str = "local", compare: str = "") -> None:
    told = f"q={quote(question)}&method={method}" + (f"&compare={compare}" if compare else "")
    page.goto(f"{page.url.partition('#')[0]}#/coast/ask?{told}")


def ended(page: "Page", how: str) -> None:
    page.locator(f"article[data-answered={how}]").first.wait_for(timeout=60_000)


def test_what_the_words_do_not_say_is_marked_with_its_reason(asked: "Page") -> None:
    ask(asked, "Who led the Dockers Union?")
    ended(asked, "answered")
    doubtful = asked.locator(".said .sentence.not")
    assert doubtful.all_inner_texts() == ["She was born on the Moon in 1066."]
    sign = asked.get_by_role("button", name="not supported")
    sign.focus()
    asked.keyboard.press("Shift+Tab")
    asked.keyboard.press("Tab")
    card = asked.locator("#hover-card")
    card.wait_for()
    assert "1066" in card.inner_text()
    sign.click()
    entry = asked.locator(".doubts li:focus")
    assert "not supported" in entry.inner_text()
    assert "Score" in entry.inner_text()
    general = asked.locator(".said .sentence.general")
    assert general.all_inner_texts() == ["The sea is salt."]
    told = asked.locator(".support").inner_text()
    assert "1 not supported" in told
    assert "1 statement is a model's general knowledge" in told
    assert "1 model call" in asked.locator("article .status").inner_text()


def test_an_answer_is_shown_as_it_comes_and_can_be_stopped(asked: "Page") -> None:
    ask(asked, "What is the long story?")
    coming = asked.locator(".streaming")
    coming.get_by_text("Sentence 2 of").wait_for()
    assert asked.locator("article[data-answered]").count() == 0
    assert asked.locator(".streaming [aria-live=polite]").count() == 1
    assert "Sentence 150" not in coming.inner_text()
    asked.get_by_role("button", name="Stop").click()
    ended(asked, "stopped")
    assert "Sentence 2 of" in asked.locator(".partial").inner_text()
    asked.get_by_role("link", name="Map").click()
    asked.locator("nav [aria-current=page]", has_text="Map").wait_for()
    asked.go_back()
    ended(asked, "stopped")
    assert "Sentence 2 of" in asked.locator(".partial").inner_text()
    assert asked.get_by_role("button", name="Ask again").is_visible()


def test_an_answer_goes_on_while_another_page_is_looked_at(asked: "Page") -> None:
    sent: list[str] = []
    asked.on("request", lambda one: sent.append(one.url) if one.url.endswith("/ask") else None)
    ask(asked, "What is the long story of the Dockers Union?")
    asked.locator(".streaming").get_by_text("Sentence 2 of").wait_for()
    asked.get_by_role("link", name="Map").click()
    asked.locator("nav [aria-current=page]", has_text="Map").wait_for()
    asked.wait_for_timeout(2_000)
    asked.go_back()
    asked.locator(".streaming").get_by_text("Sentence 8 of").wait_for(timeout=3_000)
    assert len(sent) == 1


def test_a_server_that_stops_in_the_middle_leaves_what_came(browser: "Browser", asked_home: Path) -> None:
    with ExitStack() as served:
        url = served.enter_context(served_home(asked_home))
        with watched_page(browser, f"{url}/#/coast/ask") as page:
            ask(page, "What is the long story?")
            page.locator(".streaming").get_by_text("Sentence 2 of").wait_for()
            served.close()
            ended(page, "cut")
            page.get_by_text("The answer was cut off").wait_for()
            assert "Sentence 2 of" in page.locator(".partial").inner_text()
            page.get_by_role("button", name="Ask again").click()
            page.get_by_text("Cannot reach the server").wait_for()


def test_a_busy_server_says_when_to_come_again(browser: "Browser", asked_home: Path) -> None:
    with (
        served_home(asked_home, arguments=("--concurrency", "1")) as url,
        watched_page(browser, f"{url}/#/coast/ask") as page,
    ):
        # Asked together, either may come first, and the short answer leaves its place in time.
        ask(page, "What is the long story?", "local")
        page.locator(".streaming").wait_for()
        ask(page, "What is the long story?", "local", "SS")
        ended(page, "failed")
        page.get_by_text("The server is busy").wait_for()
        page.get_by_text("Try again in 10 s.").wait_for()
        page.locator(".streaming").wait_for()


def test_hostile_markdown_stays_text(asked: "Page") -> None:
    ask(asked, "What is hostile to the Dockers Union?")
    ended(asked, "answered")
    said = asked.locator(".said")
    assert said.locator("script, img, iframe, svg, i, object, style").count() == 0
    hrefs = [one.get_attribute("href") for one in said.locator("a:not(.cite)").all()]
    assert hrefs == [
        "https://example.org/?a=1&b=2",
        "https://example.org/a.png",
        "https://example.org/auto",
    ]
    for one in said.locator("a.outward").all():
        assert (one.get_attribute("rel"), one.get_attribute("target")) == ("noopener noreferrer", "_blank")
        assert "https://example.org/" in one.inner_text()
    text = said.inner_text()
    for kept in ("<script>window.harmed = 1</script>", "[click](javascript:window.harmed=1)", "<i>one</i>"):
        assert kept in text
    assert said.locator("table strong").inner_text() == "a"
    assert said.locator("button").evaluate_all("all => all.every((one) => !one.closest('a'))")
    assert asked.evaluate("window.harmed") is None
