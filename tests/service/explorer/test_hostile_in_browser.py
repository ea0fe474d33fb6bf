"""A thousand hostile strings in names, titles, texts and replies: none is run, none calls another host."""

from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import polars as pl
import pytest

from graphrag_dagster.kernel.storage.published import publish
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from support.asked_home import answering_endpoint
from support.browsing import served_home, watched_page
from support.homes import enter_home
from support.hostile import HOSTILE
from support.published_graphs import MadeGraph, community_id, document_id, entity_id, publish_graph

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.long
SETTINGS = "search: {{engine: llm}}\nmodel: {{base_url: '{}', name: scripted}}\n"
_WORDY = {
    tables.ENTITIES: ("title", "type", "description"),
    tables.RELATIONSHIPS: ("description",),
    tables.DOCUMENTS: ("title", "path", "text"),
    tables.FILES: ("path", "reason"),
    tables.TEXT_CHUNKS: ("text",),
    tables.COMMUNITY_REPORTS: ("title", "summary", "content", "rating_explanation"),
    tables.REPORT_FINDINGS: ("summary", "explanation"),
}


def _hostile(frame: pl.DataFrame, columns: tuple[str, ...]) -> pl.DataFrame:
    """The frame with hostile strings in some columns; texts keep their length, to which places in them refer."""
    told = pl.Series("told", list(islice(cycle(HOSTILE), len(frame))), dtype=pl.String)
    made = frame
    for column in columns:
        strings = told
        if column == "text":
            repeated = " ".join(HOSTILE)
            strings = pl.Series(
                [(repeated * (len(text) // len(repeated) + 1))[: len(text)] for text in frame[column]]
            )
        made = made.with_columns(strings.alias(column))
    return made


@pytest.fixture
def hostile_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A home whose corpus ``hostile`` has nothing else in its texts, and whose model answers with it."""
    enter_home(monkeypatch, tmp_path)
    replies = cycle(HOSTILE)
    with answering_endpoint(lambda _: "\n\n".join(islice(replies, 50))) as endpoint:
        folder = tmp_path / "corpora" / "hostile"
        folder.mkdir(parents=True)
        (folder / "a.txt").write_text("Nothing.", encoding="utf-8")
        (folder / "corpus.yaml").write_text(SETTINGS.format(endpoint.url), encoding="utf-8")
        warehouse = Warehouse()
        publish_graph(MadeGraph(1_000), "hostile", warehouse)
        for table, columns in _WORDY.items():
            warehouse.write(table, "hostile", _hostile(warehouse.read(table, "hostile"), columns))
        publish(warehouse, "hostile")
        yield tmp_path


def test_nothing_hostile_is_run_and_nobody_else_is_called(browser: "Browser", hostile_home: Path) -> None:
    with served_home(hostile_home) as url, watched_page(browser, url) as page:
        page.on("dialog", lambda dialog: pytest.fail(f"a dialog came up: {dialog.message}"))
        corpus = f"{url}/#/hostile"
        shown = [
            *(
                "map",
                "map?view=graph",
                f"map?within={community_id(0, 0)}&view=graph&measure=tokens",
                "changes",
            ),
            *(
                f"tables/{name}"
                for name in ("entities", "relationships", "documents", "files", "communities")
            ),
            *(f"tables/entities?offset={offset}" for offset in range(0, 1_000, 100)),
            *(f"entity/{entity_id(number)}" for number in range(0, 1_000, 17)),
            *(f"community/{community_id(1, number)}" for number in range(10)),
            *(f"document/{document_id(number)}?cited=100-300" for number in range(5)),
            *(f"find?query={quote(text)}" for text in HOSTILE[::50]),
            *(f"{quote(text, safe='')}/{quote(text, safe='')}" for text in HOSTILE[::60]),
        ]
        for address in shown:
            _go(page, f"{corpus}/{address}")
        for number in range(20):
            question = quote(f"{number} {HOSTILE[number * 50]}"[:200])
            _go(page, f"{corpus}/ask?q={question}&method=basic")
            page.wait_for_selector("[data-answered=answered] .said p", timeout=30_000)
        assert page.evaluate("window.harmed") is None
        assert page.url.startswith(url)


def _go(page: "Page", address: str) -> None:
    page.evaluate("document.getElementById('main').removeAttribute('data-shown')")
    page.goto(address)
    page.wait_for_selector("#main[data-shown]")
