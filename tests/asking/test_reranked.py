from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from graphrag_dagster import Index
from graphrag_dagster.operations.asking.index import options_of
from graphrag_dagster.resources.reply_memory import ReplyMemory
from graphrag_dagster.settings import CorpusSettings
from support.commands import Run

QUESTION = "Who led the Dockers Union?"
RERANKED = ("basic", "local", "drift", "auto")

Opened = Callable[..., Index]


@pytest.fixture
def opened(index: Index, tmp_path: Path) -> Opened:
    """Opens ``coast`` with settings of the search."""

    def with_settings(**search: Any) -> Index:
        settings = CorpusSettings.model_validate({"search": search})
        searcher = index.searcher.with_options(options_of(settings))
        return Index("coast", searcher, settings, index.version, ReplyMemory(file=str(tmp_path / "r.sqlite")))

    return with_settings


@pytest.mark.parametrize("method", RERANKED)
def test_an_answer_tells_who_reranked_and_what_moved(opened: Opened, method: str) -> None:
    plain = opened().ask(QUESTION, method=method)
    assert plain.reranked == ()
    assert "reranked" not in (plain.why or "")
    made = opened(reranker="lexical", rerank_first=5).ask(QUESTION, method=method)
    assert not made.refused
    assert made.reranked
    assert "reranked by lexical: " in (made.why or "")
    for one in made.reranked:
        assert (one.reranker, one.units <= 5) == ("lexical", True)
        assert all(move.before != move.after for move in one.moved)
        assert sorted(move.before for move in one.moved) == sorted(move.after for move in one.moved)
    assert made.to_dict()["reranked"][0]["question"]
    again = opened(reranker="lexical", rerank_first=5).ask(QUESTION, method=method)
    assert (again.text, again.reranked) == (made.text, made.reranked)


def test_the_order_of_the_context_is_the_one_that_is_told(opened: Opened) -> None:
    plain = opened(retrieval="lexical").ask(QUESTION, method="basic")
    made = opened(retrieval="lexical", reranker="lexical", rerank_first=2).ask(QUESTION, method="basic")
    before = [use.record_id for use in plain.context]
    after = [use.record_id for use in made.context]
    [done] = made.reranked
    assert sorted(after) == sorted(before)
    assert after[2:] == before[2:]
    for move in done.moved:
        assert before[move.before - 1] == after[move.after - 1] == move.text_unit_id


@pytest.mark.parametrize("method", ["SS", "C1", "TS", "global"])
def test_what_does_not_rank_text_units_or_is_a_baseline_is_not_reranked(opened: Opened, method: str) -> None:
    assert opened(reranker="lexical").ask(QUESTION, method=method).reranked == ()


def test_the_command_line_tells_it(coast: Path, run: Run) -> None:
    (coast / "corpus.yaml").write_text("search: {reranker: lexical, method: basic}\n", encoding="utf-8")
    code, out, _ = run("ask", "coast", QUESTION)
    assert (code, "reranked by lexical: " in out) == (0, True)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"reranker": "magic"}, "'none', 'lexical' or 'cross-encoder'"),
        ({"rerank_first": 1}, "greater than or equal to 2"),
        ({"rerank_first": 1001}, "less than or equal to 1000"),
    ],
)
def test_settings_that_cannot_be_are_one_clear_error(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        CorpusSettings.model_validate({"search": given})
