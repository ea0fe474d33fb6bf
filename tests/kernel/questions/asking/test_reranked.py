import json
from collections.abc import Callable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from rich.console import Console

from graphrag_dagster import Index
from graphrag_dagster.apps.evaluation.stages.answer_stage import options_hash
from graphrag_dagster.cli.commands.ask_commands import answer_tree
from graphrag_dagster.cli.job_runner import run_job
from graphrag_dagster.kernel.common.stable_values import Scores
from graphrag_dagster.kernel.models.cache.llm_cache import LLMCache
from graphrag_dagster.kernel.questions.question import Question
from graphrag_dagster.kernel.retrieval.rerankers import shared_cross_encoder
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.tasks.answering_ports import Sought
from graphrag_dagster.kernel.tasks.task_provider import TaskProvider
from support.commands import Run
from support.traces import column, section_told

QUESTION = "Who led the Dockers Union?"
RERANKED = ("basic", "local", "drift", "auto")

Opened = Callable[..., Index]


class Reversing:
    """The engines of a session, with a reranker that prefers what comes last."""

    name = "reversing"

    def __init__(self, session: TaskProvider) -> None:
        self._session = session

    def reranker(self) -> "Reversing":
        return self

    def counts(self, sought: Sought) -> float:
        return 1.0

    def scores(self, sought: Sought, texts: Sequence[str]) -> Scores:
        return np.arange(len(texts), dtype=np.float64)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)


@pytest.fixture
def opened(index: Index, tmp_path: Path) -> Opened:
    """Opens ``coast`` with settings of the search."""

    def with_settings(**search: Any) -> Index:
        settings = CorpusSettings.model_validate({"search": search})
        searcher = index.searcher.with_settings(settings)
        return Index("coast", searcher, settings, index.version, LLMCache(file=str(tmp_path / "r.sqlite")))

    return with_settings


@pytest.mark.parametrize("method", RERANKED)
def test_an_answer_tells_who_reranked_and_what_moved(index: Index, method: str) -> None:
    made = index.searcher.answer(Question(QUESTION, method), Reversing(index._session()))
    assert not made.refused
    assert set(section_told(made, "Reranked").column("reranker")) == {"reversing"}
    moved = section_told(made, "Moved")
    assert len(moved.rows) == sum(column(made, "Reranked", "moved"))
    before, after = moved.column("before"), moved.column("after")
    assert all(one != other for one, other in zip(before, after, strict=True))
    assert sorted(before) == sorted(after)
    again = index.searcher.answer(Question(QUESTION, method), Reversing(index._session()))
    assert (again.text, again.trace) == (made.text, made.trace)


def test_the_order_of_the_context_is_the_one_that_is_told(index: Index) -> None:
    plain = index.ask(QUESTION, method="basic")
    made = index.searcher.answer(Question(QUESTION, "basic"), Reversing(index._session()))
    before = [use.record_id for use in plain.context]
    after = [use.record_id for use in made.context]
    moved = section_told(made, "Moved")
    assert sorted(after) == sorted(before)
    for unit, was, now in zip(
        moved.ids("text unit"), moved.column("before"), moved.column("after"), strict=True
    ):
        assert before[was - 1] == after[now - 1] == unit
    assert len(moved.rows) == sum(one != other for one, other in zip(before, after, strict=True))


@pytest.mark.parametrize("method", ["SS", "C1", "TS", "global"])
def test_what_does_not_rank_text_units_or_is_a_baseline_is_not_reranked(index: Index, method: str) -> None:
    made = index.searcher.answer(Question(QUESTION, method), Reversing(index._session()))
    assert not made.section("Reranked")


def test_words_leave_what_was_found_as_somebody_chose(opened: Opened) -> None:
    plain, made = (opened(reranker=name).ask(QUESTION, method="basic") for name in ("none", "lexical"))
    assert (made.section("Reranked"), made.text) == (None, plain.text)


@pytest.mark.long
def test_long_documents_are_reranked_by_words_unless_nobody_is_to(home: Path, run: Run) -> None:
    (folder := home / "corpora" / "talk").mkdir()
    idle = "Nobody could say when the weather would turn, and the gulls went on as they always had. " * 12
    said = [f"ADA RUSK: I went to sea at nine. {idle}", f"BO LIND: Ada Rusk knows the sea. {idle}", idle * 3]
    (folder / "one.txt").write_text("\n\n".join(said), encoding="utf-8")
    (folder / "corpus.yaml").write_text("text_units: {size: 120, overlap: 20}\n", encoding="utf-8")
    run_job("talk")
    code, out, _ = run("ask", "talk", "When did Ada Rusk go to sea?", "--method", "local", "--json")
    [done] = [one for one in json.loads(out)["trace"] if one["title"] == "Reranked"]
    assert (code, done["rows"][0][0]) == (0, "lexical")
    (folder / "corpus.yaml").write_text(
        "text_units: {size: 120, overlap: 20}\nsearch: {reranker: none}\n", encoding="utf-8"
    )
    code, out, _ = run("ask", "talk", "When did Ada Rusk go to sea?", "--method", "local", "--json")
    assert (code, [one for one in json.loads(out)["trace"] if one["title"] == "Reranked"]) == (0, [])


def test_trace_shows_the_ranks_before_and_after(index: Index) -> None:
    made = index.searcher.answer(Question(QUESTION, "basic"), Reversing(index._session()))
    console = Console(width=200, record=True, file=StringIO())
    console.print(answer_tree(made))
    shown = console.export_text()
    assert "reranker: reversing" in shown
    assert "question: Who led the Dockers Union?" in shown
    before, after = (column(made, "Moved", one)[0] for one in ("before", "after"))
    assert f"before {before}, after {after}" in shown


def test_answers_are_not_those_of_another_reranker(opened: Opened, tmp_path: Path) -> None:
    def options(**search: Any) -> str:
        return options_hash(opened(**search)._session())

    hashes = [
        options(reranker="none"),
        options(reranker="lexical"),
        options(reranker="lexical", rerank_first=9),
    ]
    for name, weights in (("a", b"1"), ("a", b"2"), ("b", b"2")):
        (folder := tmp_path / name).mkdir(exist_ok=True)
        (folder / "model.safetensors").write_bytes(weights)
        # Another process reads the weights anew.
        shared_cross_encoder.cache_clear()
        hashes.append(options(reranker="cross-encoder", reranker_model=str(folder)))
    assert len(set(hashes)) == len(hashes)
    assert options(reranker="lexical") == hashes[1]


def test_doctor_tells_whether_the_reranker_works(coast: Path, run: Run) -> None:
    settings = f"search: {{reranker: cross-encoder, reranker_model: {coast}}}\n"
    (coast / "corpus.yaml").write_text(settings, encoding="utf-8")
    code, out, _ = run("doctor", "coast", "--json")
    told = json.loads(out)
    assert (code, told["verdict"]) == (1, "unusable")
    [finding] = told["findings"]
    assert (finding["probe"], finding["verdict"]) == ("reranker", "fails")
    assert "search.reranker" in finding["found"]


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
