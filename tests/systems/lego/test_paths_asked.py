"""The way ``paths`` over a real index, wherever it is asked."""

import json
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from graphrag_dagster import Filters, Index
from graphrag_dagster.apps.evaluation.stages.answer_stage import options_hash
from graphrag_dagster.errors import SettingsError
from graphrag_dagster.kernel.questions.question import Question
from graphrag_dagster.kernel.settings.corpus_settings import parse_settings
from graphrag_dagster.kernel.tables import RELATIONSHIPS, TRIPLES
from graphrag_dagster.systems.lego.search.instance_definitions import instance
from graphrag_dagster.systems.lego.search.lego_method import units_stating
from graphrag_dagster.systems.lego.settings import PathSettings
from support.commands import Run
from support.homes import copy_home
from support.traces import column, fact, section_told

FACT, NOTHING = "Who led the Dockers Union?", "What are the main themes?"


def test_it_answers_with_words_that_the_paths_lead_to(index: Index) -> None:
    answer = index.ask(FACT, method="paths")
    assert fact(answer, "Paths", "start") == "Dockers Union"
    assert "Hanna Quill" in answer.text
    assert (answer.unsupported, answer.usage.calls, answer.refused) == (0, 0, False)
    assert answer.sources
    assert all(source.evidence for source in answer.sources)
    found = section_told(answer, "Paths found")
    assert all(one.startswith("Dockers Union -> ") for one in found.column("path"))
    assert len(found.ids("path")) >= 2 * len(found.rows)
    scores = found.column("score")
    assert scores == sorted(scores, reverse=True)
    assert fact(answer, "Paths", "text units that state them")
    assert fact(answer, "Paths", "relationships read") == sum(
        use.kind == "relationship" for use in answer.context
    )
    assert fact(answer, "Paths", "modules") == "SBE-PPR+OSAR-EEMs"


def test_a_question_that_names_nothing_is_answered_from_passages(index: Index) -> None:
    answer = index.ask(NOTHING, method="paths")
    assert "names no entity" in fact(answer, "Paths", "read")
    assert not answer.section("Paths found")
    assert answer.context
    assert not answer.refused


def test_from_some_documents_only(index: Index) -> None:
    inside = index.ask(FACT, method="paths", filters=Filters(folders=("news",)))
    assert all(source.evidence.path.startswith("news/") for source in inside.sources)  # type: ignore[union-attr]
    assert "Hanna Quill" in inside.text


def test_any_instance_may_find_the_paths(index: Index) -> None:
    own = index.searcher
    for name in ("1", "2", "6", "14"):
        made = instance(name)
        paths = PathSettings(answering=name, pruning_level="triple")
        searcher = own.with_settings(own.settings.model_copy(update={"paths": paths}))
        answer = searcher.answer(Question(FACT, "paths"), index._session())
        assert fact(answer, "Paths", "modules") == made.title
        assert section_told(answer, "Paths found").rows
        assert "Hanna Quill" in answer.text


def test_a_graph_without_triples_leaves_what_following_and_the_walk_find(index: Index) -> None:
    own = index.searcher
    own.index = replace(own.index, triples=None)
    answer = own.answer(Question(FACT, "paths"), index._session())
    assert not answer.section("Paths found")
    assert "Hanna Quill" in answer.text


def test_the_terminal_shows_the_paths(coterag_home: Path, home: Path, run: Run) -> None:
    copy_home(coterag_home, home)
    code, out, _ = run("ask", "coast", FACT, "--method", "paths", "--trace")
    assert code == 0
    shown = " ".join(out.replace("│", " ").split())
    for part in ("start: Dockers Union", "modules: SBE-PPR+OSAR-EEMs", "Dockers Union -> ", "edges: "):
        assert part in shown
    code, out, _ = run("ask", "coast", FACT, "--method", "paths", "--json")
    assert code == 0
    cited = next(one for one in json.loads(out)["sources"] if one["kind"] == "relationship")
    code, out, _ = run("why", "coast", "relationship", cited["record_id"])
    assert code == 0
    assert "Dockers Union" in out


def test_units_of_the_best_path_come_first_then_those_that_state_more_of_it(index: Index) -> None:
    def edge(head: str, tail: str, units: list[str]) -> dict[str, object]:
        return {"head_id": head, "relation": "r", "tail_id": tail, "text_unit_ids": units}

    triples = [edge("a", "b", ["1", "2"]), edge("b", "c", ["2", "3"]), edge("c", "d", [])]
    pair = {"source_id": "d", "target_id": "c", "text_unit_ids": ["4"]}
    entities = pl.DataFrame({"entity_id": list("abcd")})
    tables = replace(
        index.searcher.index,
        entities=entities,
        triples=TRIPLES.rows(triples),
        relationships=RELATIONSHIPS.rows([pair]),
    )
    one, other = [("a", "r", "b"), ("b", "r", "c")], [("c", "r", "d")]
    assert units_stating(tables, [one, other]) == ["2", "1", "3", "4"]
    assert units_stating(tables, [other, one]) == ["4", "2", "1", "3"]


def test_the_shipped_recipe_asks_no_model() -> None:
    recipe = PathSettings().chosen_recipe
    assert (recipe.name, recipe.asks_selector, recipe.scores) == ("12", False, True)


def test_relations_that_the_prefilter_leaves_out_are_on_no_path(index: Index) -> None:
    own = index.searcher
    whole = own.answer(Question(FACT, "paths"), index._session())
    assert any(
        " -> ~lead -> " in one or " -> lead -> " in one for one in column(whole, "Paths found", "path")
    )
    paths = PathSettings.model_validate({"prefilter": {"relations": ["lead"]}})
    without = own.with_settings(own.settings.model_copy(update={"paths": paths}))
    left = column(without.answer(Question(FACT, "paths"), index._session()), "Paths found", "path")
    assert left
    assert not any("lead ->" in one for one in left)


def test_an_instance_that_looks_through_vectors_of_the_graph_is_refused() -> None:
    given = {"custom": [{"name": "near", "extraction": "node_vectors"}], "answering": "near"}
    with pytest.raises(SettingsError, match="needs a partition or vectors"):
        parse_settings({"paths": given}, "corpus.yaml")


def test_who_finds_the_paths_decides_the_answers(index: Index) -> None:
    session = index._session()
    before = options_hash(session)
    own = session.settings
    for told, same in (({"answering": "14"}, False), ({"sample": 5}, True), ({"beam": 3}, False)):
        session.settings = own.model_copy(update={"paths": PathSettings(**told)})
        assert (options_hash(session) == before) == same
