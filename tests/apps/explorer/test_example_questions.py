"""What a corpus can be asked to begin with, and what its first page says of files and models."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from graphrag_dagster import Index
from graphrag_dagster.apps.explorer.explorer import Explorer
from graphrag_dagster.apps.explorer.table_pages import Order
from graphrag_dagster.kernel.storage.published import publish
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from support.homes import enter_home
from support.hostile import HOSTILE
from support.made import publish_rows
from support.published_graphs import MadeGraph, publish_graph


def test_questions_are_about_the_names_of_the_corpus(seen: Explorer) -> None:
    questions = seen.overview().questions
    assert questions == seen.overview().questions
    assert len(questions) == len(set(questions)) <= 6
    person, connection, themes, *_ = questions
    named = [row[1] for row in seen.table("entities", Order("degree", descending=True)).rows]
    assert person.removeprefix("Who is ").removesuffix("?") in named
    ends = connection.removeprefix("How are ").removesuffix(" connected?").split(" and ")
    assert set(ends) <= set(named)
    assert themes == "What are the main themes?"
    index = Index.open("coast")
    assert not [question for question in questions[:3] if index.ask(question).refused]


def test_questions_of_the_settings_come_first(coast: Path) -> None:
    (coast / "corpus.yaml").write_text(
        'questions: {ask: ["Who led\\n the union?", " ", "Who led\\n the union?"]}\n', encoding="utf-8"
    )
    questions = Index.explorer("coast").overview().questions
    assert questions[0] == "Who led the union?"
    assert len(questions) == len(set(questions)) == 6


def test_names_that_would_spoil_a_sentence_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter_home(monkeypatch, tmp_path)
    (tmp_path / "corpora" / "made").mkdir(parents=True)
    warehouse = Warehouse()
    publish_graph(MadeGraph(len(HOSTILE)), "made", warehouse)
    entities = warehouse.read(tables.ENTITIES, "made")
    warehouse.write(
        tables.ENTITIES,
        "made",
        entities.with_columns(
            title=entities["title"].replace_strict(dict(zip(entities["title"], HOSTILE, strict=True)))
        ),
    )
    publish(warehouse, "made")
    for question in Index.explorer("made").overview().questions:
        assert question.isprintable()
        assert not set('<>[]{}`"*_?') & set(question[:-1]), question


def test_without_entities_there_is_nothing_to_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enter_home(monkeypatch, tmp_path)
    (tmp_path / "corpora" / "made").mkdir(parents=True)
    publish_rows({tables.FILES: {"path": ["a.txt"]}})
    assert Index.explorer("made").overview().questions == []


def test_files_that_were_not_read_are_listed_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter_home(monkeypatch, tmp_path)
    (tmp_path / "corpora" / "made").mkdir(parents=True)
    publish_rows(
        {
            tables.FILES: {
                "path": ["a.txt", "b.png", "c.pdf", "d.txt", "e.tmp"],
                "status": ["read", "unsupported", "read", "failed", "ignored"],
                "reason": [None, "no reader for .png", "page 2 is an image", None, "ignored"],
                "incomplete": [False, False, True, False, False],
            }
        }
    )
    found = Index.explorer("made").overview()
    assert (found.counts.files_not_read, found.counts.files_read_in_part) == (2, 1)
    assert [(one.path, one.reason, one.in_part) for one in found.unread] == [
        ("d.txt", "", False),
        ("b.png", "no reader for .png", False),
        ("c.pdf", "page 2 is an image", True),
    ]


def test_the_models_of_an_index_are_named(
    seen: Explorer, modelled_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (seen.overview().index_model, seen.overview().answer_model) == (None, None)
    enter_home(monkeypatch, modelled_home)
    found = Index.explorer("coast").overview()
    assert found.index_model
    assert found.engine == "llm"
    assert found.answer_model == found.index_model


def test_corpora_without_an_index_are_listed_apart(client: TestClient) -> None:
    listed = client.get("/corpora").json()
    assert [one["name"] for one in listed["corpora"]] == ["coast"]
    assert listed["unindexed"] == ["bare"]
