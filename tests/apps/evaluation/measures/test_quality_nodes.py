"""The nodes of a context by which contextual precision ranks."""

from typing import Any

import polars as pl
import pytest

from graphrag_dagster import Index
from graphrag_dagster.apps.evaluation.measures.quality_rows import quality_items
from graphrag_dagster.apps.evaluation.questions.answer_tables import ANSWER_CONTEXTS, ANSWERS
from graphrag_dagster.apps.evaluation.questions.question_tables import QUESTIONS
from graphrag_dagster.kernel.questions.answer_rows import AnswerRows
from graphrag_dagster.systems.coterag.search.coterag_snapshot import coterag_tables_of
from support.homes import enter_home

#: Near communities, paths and text units alike.
QUESTION = "Selma Dray Brinefield Shipping Tallow Marine merger Orrin Vask"


@pytest.fixture
def index(coterag_home: Any, monkeypatch: pytest.MonkeyPatch) -> Index:
    enter_home(monkeypatch, coterag_home)
    return Index.open("coast")


def context(*rows: tuple[str, str, str | None, bool]) -> pl.DataFrame:
    return ANSWER_CONTEXTS.frame(
        [
            {
                "answer_id": "a1",
                "position": place,
                "kind": kind,
                "record_id": record_id,
                "title": "",
                "chunk": 0,
                "tokens": 1,
                "used": used,
                "text": text,
            }
            for place, (kind, record_id, text, used) in enumerate(rows)
        ]
    )


def nodes(index: Index, contexts: pl.DataFrame) -> tuple[str, ...]:
    question = {"question_id": "q1", "position": 0, "question": "Who?", "origin": "file", "reference": "She."}
    answers = pl.DataFrame(
        [
            {
                "answer_id": "a1",
                "question_id": "q1",
                "question": "Who?",
                "text": "She did [1].",
                "refused": False,
            }
        ]
    )
    (item,) = quality_items(answers, contexts, QUESTIONS.frame([question]), index.searcher.index)
    return item.contexts


def test_rows_are_nodes_in_the_order_in_which_they_were_shown(index: Index) -> None:
    snapshot = index.searcher.index
    units = snapshot.text_chunks.select("text_unit_id", "text").rows()
    report = snapshot.reports.row(0, named=True)
    shown = context(
        ("source", units[1][0], None, True),
        ("report", report["report_id"], None, True),
        ("source", units[0][0], None, True),
        ("source", units[2][0], None, False),
    )
    wanted = (units[1][1], report["content"], units[0][1])
    assert nodes(index, shown) == wanted
    assert nodes(index, shown.reverse()) == wanted


def test_paths_are_one_node_where_the_first_of_them_stands(index: Index) -> None:
    shown = context(
        ("own_context", "x", "Of what is known.", True),
        ("triple", "t1", "A treats B.", True),
        ("triple", "t2", "B causes C.", True),
        ("source", index.searcher.index.text_chunks["text_unit_id"][0], None, True),
        ("own_context", "y", "More of it.", True),
    )
    told = nodes(index, shown)
    assert told[:2] == ("Of what is known.", "A treats B.\nB causes C.")
    assert told[3] == "More of it."
    assert len(told) == 4


def test_of_coterag_a_summary_and_a_text_unit_are_nodes_and_all_paths_are_one(index: Index) -> None:
    answer = index.ask(QUESTION, method="coterag")
    made = AnswerRows("v", "o")
    made.add(0, QUESTION, "coterag", answer)
    answers, _, contexts, *_ = made.rows()
    question = {"position": 0, "question": QUESTION, "origin": "file", "reference": "Hanna Quill did."}
    (item,) = quality_items(
        ANSWERS.frame(answers),
        ANSWER_CONTEXTS.frame(contexts),
        QUESTIONS.frame([question | {"question_id": answers[0]["question_id"]}]),
        index.searcher.index,
    )
    kinds = [use.kind for use in answer.context]
    assert {"summary", "triple", "source"} <= set(kinds)
    assert kinds == sorted(kinds, key=["summary", "triple", "source"].index)
    snapshot = index.searcher.index
    stored = coterag_tables_of(snapshot)
    assert stored is not None
    texts = dict(stored.summaries.select("community_id", "text").iter_rows())
    texts |= dict(snapshot.text_chunks.select("text_unit_id", "text").iter_rows())
    before = [texts[use.record_id] for use in answer.context if use.kind == "summary"]
    after = [texts[use.record_id] for use in answer.context if use.kind == "source"]
    assert [*item.contexts[: len(before)], *item.contexts[len(before) + 1 :]] == [*before, *after]
    paths = item.contexts[len(before)].split("\n")
    assert len(paths) == kinds.count("triple")
    assert all(one.endswith(".") for one in paths)
