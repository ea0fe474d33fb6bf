"""What a search method declares is what it reads and needs."""

from dataclasses import fields, replace
from typing import Any

import pytest

from graphrag_dagster import Index
from graphrag_dagster.kernel.catalogue.registry import method_at_level, methods, searched_tables
from graphrag_dagster.kernel.catalogue.search_methods import FEATURES, SearchMethod
from graphrag_dagster.kernel.catalogue.tasks import Port, Task
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.question import Engines, Question
from graphrag_dagster.kernel.questions.searcher import Searcher, find_method
from graphrag_dagster.kernel.retrieval.rerankers import LexicalReranker
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.search_settings import SearchSettings
from graphrag_dagster.kernel.storage.published import SEARCHED
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.systems.coterag.search.coterag_snapshot import CoteragTables, coterag_tables_of

#: One of each kind that ``auto`` tells apart, and one that a query answers.
QUESTIONS = ("Who led the Dockers Union?", "What are the main themes?", "How many people are there?")
TABLES = {
    "documents": "corpus.documents",
    "text_chunks": "corpus.text_chunks",
    "entities": "graph.entities",
    "relationships": "graph.relationships",
    "communities": "graph.communities",
    "community_levels": "graph.community_levels",
    "members": "graph.community_members",
    "claims": "graph.claims",
    "claim_records": "extraction.claims",
    "metadata": "corpus.document_metadata",
    "periods": "corpus.document_periods",
    "reports": "reports.community_reports",
    "findings": "reports.report_findings",
    "references": "reports.report_references",
    "unit_vectors": "embeddings.text_units",
    "entity_vectors": "embeddings.entities",
    "report_vectors": "embeddings.community_reports",
    "triples": "graph.triples",
    "context_nodes": "graph.context_nodes",
    "context_vectors": "graph.context_vectors",
    "statements": "imports.relations",
    "declared": "imports.entities",
}
OF_COTERAG = {
    "triples": "graph.triples",
    "stores": "coterag.stores",
    "members": "coterag.members",
    "summaries": "coterag.summaries",
    "summary_quotes": "coterag.summary_quotes",
    "terms": "coterag.terms",
    "description_vectors": "coterag.description_vectors",
    "summary_vectors": "coterag.summary_vectors",
    "thresholds": "coterag.thresholds",
}
ALL = {*TABLES.values(), *OF_COTERAG.values()}
#: Read by who makes the engine.
OF_THE_ENGINE = {"engine", "unit", "response_type", "general_knowledge", "reranker", "reranker_model"}

#: The others are asked with a model, in tests of their own.
MODEL_LESS = [method for method in methods().values() if not method.needs_model]


class Noted:
    """Engines, and which of them were called for; units are reranked."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines
        self.called: set[str] = set()

    def reranker(self) -> LexicalReranker:
        return LexicalReranker()

    def task(self, task: Task[Port]) -> Port:
        self.called.add(task.name)
        return self._engines.task(task)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engines, name)


READ: set[str] = set()


class ReadSearch(SearchSettings):
    """Notes which keys were read."""

    def __getattribute__(self, name: str) -> Any:
        if name in SearchSettings.model_fields:
            READ.add(name)
        return super().__getattribute__(name)


class ReadSettings(CorpusSettings):
    """Notes which sections were read, but for ``search``."""

    def __getattribute__(self, name: str) -> Any:
        if name in CorpusSettings.model_fields and name != "search":
            READ.add(name)
        return super().__getattribute__(name)


def answers(
    index: Index, snapshot: IndexSnapshot, method: SearchMethod, engines: Any = None, settings: Any = None
) -> list:
    searcher = Searcher(snapshot, settings or CorpusSettings(), index.searcher.count)
    told = []
    for question in QUESTIONS:
        answer = searcher.answer(Question(question, method.name), engines or index._session())
        told.append({**answer.to_dict(), "seconds": None})
    return told


def only(snapshot: IndexSnapshot, declared: tuple[str, ...]) -> IndexSnapshot:
    """The tables that are declared, and the others without rows."""
    own = coterag_tables_of(snapshot)
    assert own is not None
    return replace(
        snapshot,
        # What was made of all tables may lie there.
        shelf=None,
        **{
            name: getattr(snapshot, name).clear()
            for name, table in TABLES.items()
            if table not in declared and getattr(snapshot, name) is not None
        },
        parts={
            "coterag": replace(
                own,
                **{
                    name: getattr(own, name).clear()
                    for name, table in OF_COTERAG.items()
                    if table not in declared
                },
            )
        },
    )


def test_the_tables_of_a_snapshot_are_those_that_are_declared() -> None:
    others = {"restricted", "parts", "sentences", "shelf"}
    assert {*TABLES, "queries", "graph"} == {one.name for one in fields(IndexSnapshot) if one.init} - others
    assert {name: table.full_name for name, table in CoteragTables.TABLES.items()} == OF_COTERAG
    assert set(CoteragTables.TABLES) == {one.name for one in fields(CoteragTables)} - {"left_out"}
    assert {table.full_name for table in SEARCHED} == ALL
    assert {name for method in methods().values() for name in method.tables} == searched_tables() == ALL
    assert {table.full_name for table in all_tables()} >= ALL


@pytest.mark.parametrize("method", MODEL_LESS, ids=lambda method: method.name)
def test_other_tables_than_those_declared_change_no_answer(index: Index, method: SearchMethod) -> None:
    whole = index.searcher.index
    made = answers(index, replace(whole), method)
    assert any(not answer["refused"] for answer in made)
    assert answers(index, only(whole, method.tables), method) == made


@pytest.mark.parametrize("method", MODEL_LESS, ids=lambda method: method.name)
def test_a_way_needs_the_tasks_and_reads_the_options_that_it_declares(
    index: Index, method: SearchMethod
) -> None:
    engines = Noted(index._session())
    search = ReadSearch(sql="model", routing="model")
    settings = ReadSettings().model_copy(update={"search": search})
    READ.clear()
    answers(index, replace(index.searcher.index), method, engines, settings)
    assert engines.called - {"support_judge"} == set(method.tasks)
    assert set(READ) - OF_THE_ENGINE == set(method.options) - OF_THE_ENGINE
    assert set(method.options) <= {*SearchSettings.model_fields, *CorpusSettings.model_fields}


@pytest.mark.parametrize("method", methods().values(), ids=lambda method: method.name)
def test_the_features_of_a_method_agree_with_what_it_reads(method: SearchMethod) -> None:
    assert method.features
    assert set(method.features) <= set(FEATURES)
    if method.name != "auto":
        assert ("community reports" in method.features) == ("reports.community_reports" in method.tables) or (
            method.features == ("query",)
        )
        assert ("text units" in method.features) <= ("corpus.text_chunks" in method.tables)
    assert method.uses_graph or not {"community reports", "communities", "traversal"} & set(method.features)
    assert ("own context" in method.features) == (not method.tables)


def test_a_feature_that_there_is_not_is_refused() -> None:
    wizard = SearchMethod("wizard", "by magic", "some:where", "some:size", features=("magic",))
    told = wizard.unknown(["answerer"], [])
    assert told
    assert "there is no feature 'magic'; use one of route," in told


def test_deeper_levels_are_ways_of_answering_too() -> None:
    assert find_method("c12") == method_at_level(12)
    assert find_method("C3") in methods().values()
    assert find_method("C1234") is None
    assert find_method("Q") is None


@pytest.mark.parametrize("method", methods().values(), ids=lambda method: method.name)
def test_what_a_question_asks_is_told_beforehand_for_every_method(index: Index, method: SearchMethod) -> None:
    size = index.searcher.size(method.name)
    if method.name == "sql":
        assert (size.calls.high, size.input_tokens.high) == (0, 0)
        size = index.searcher.with_options(sql="model").size(method.name)
        assert 0 == size.calls.low < size.calls.expected < size.calls.high
        assert 0 == size.input_tokens.low < size.input_tokens.expected < size.input_tokens.high
        return
    assert 1 <= size.calls.low <= size.calls.expected <= size.calls.high
    assert 0 < size.input_tokens.low <= size.input_tokens.expected <= size.input_tokens.high


def test_a_model_that_chooses_is_one_call_more(index: Index) -> None:
    by_rules = index.searcher.size("auto")
    by_model = index.searcher.with_options(routing="model").size("auto")
    assert by_model.calls.expected == by_rules.calls.expected + 1
    assert by_model.calls.low == by_rules.calls.low
    assert by_model.input_tokens.high > by_rules.input_tokens.high
