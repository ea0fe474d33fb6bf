"""The method ``graph`` over an index made by hand: routes, what is found, and what context nodes bring in."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.apps.cypher.search.graph_search import by_rule, graph
from graphrag_dagster.engines.extractive.extractive_answerer import ExtractiveAnswerer
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel.common.packed_arrays import WeightedLists
from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.kernel.models.local_embedders import shared_static
from graphrag_dagster.kernel.questions.context.answer import Answer
from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
from graphrag_dagster.kernel.questions.question import Search
from graphrag_dagster.kernel.questions.scope.scope_selection import restrict_index
from graphrag_dagster.kernel.settings.search_settings import GraphSearchSettings
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tasks.answering_ports import Routed
from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from graphrag_dagster.systems.graphrag.search.graph_facts import Smoothed, likeness
from support.graph_index import BRIDGE, COMMUNITIES, STATED, small_index, with_bridges
from support.index_frames import filled
from support.questions import asked_of
from support.traces import column, fact, section_told

COUNT = get_tokenizer("o200k_base").count
OWNER = "Who owns Mill House?"
#: What Otto Brand's home holds.
OF_IRON = {("Otto Brand", "founded", "Iron Works"), ("Coal Fund", "financed", "Iron Works")}


def search(
    index: IndexSnapshot, question: str, graph_options: GraphSearchSettings | None = None, **more: Any
) -> Search:
    options = {"graph": graph_options or GraphSearchSettings(), **more.pop("options", {})}
    engines = {"answerer": ExtractiveAnswerer(shared_static()), "embedder": CorpusEmbedder(shared_static())}
    return asked_of(
        index,
        question,
        "graph",
        count=COUNT,
        level=more.pop("level", 0),
        options=options,
        **{**engines, **more},
    )


def answer(index: IndexSnapshot, question: str, *options: GraphSearchSettings, **more: Any) -> Answer:
    return graph(search(index, question, *options, **more))


def brought(found: Answer) -> set[tuple[str, str, str]]:
    section = found.section("Brought in")
    return {(head, relation, tail) for head, relation, tail, _ in section.rows} if section else set()


@pytest.mark.parametrize(
    ("question", "names", "route"),
    [
        ("Who owns Mill House?", ["Mill House"], "local"),
        ("What are the main disputes about Mill House?", ["Mill House"], "hybrid"),
        ("What are the main disputes?", [], "global"),
        ("Who owns it?", [], "global"),
        ("How many kinds of mills did Anna Velm own?", ["Anna Velm"], "hybrid"),
        ("How many mills did Anna Velm own?", ["Anna Velm"], "local"),
    ],
)
def test_the_rule_counts_names_and_cues_and_gives_its_reason(
    question: str, names: list[str], route: str
) -> None:
    chosen = by_rule(question, names)
    assert (chosen.route, chosen.by) == (route, "rules")
    assert all(name in chosen.reason for name in names)
    assert chosen.reason


def test_a_fact_is_found_at_its_node_and_cited_with_its_words() -> None:
    found = answer(small_index(bridged=False), OWNER)
    assert (fact(found, "Route through the graph", "route"), found.level) == ("local", 0)
    assert "**Anna Velm** owns Mill House since the flood. [1]" in found.text_in_bold
    first, *_ = found.sources
    assert (first.kind, first.record_id) == ("relationship", "r0")
    assert first.evidence
    assert first.evidence.quotation == STATED[0][-1]
    assert {use.record_id for use in found.context} == {"e Mill House", "r0", "r1"}
    assert fact(found, "Route through the graph", "context nodes") == "this index has no context nodes"
    assert all(part in (found.why or "") for part in ("local: it names Mill House", "around over the tables"))


def test_the_relation_that_is_named_comes_first() -> None:
    found = answer(small_index(bridged=False), "Which guild repaired Mill House?")
    assert column(found, "Queries", "made by") == ["template by_relation", "template around"]
    assert column(found, "Queries", "rows") == [1, 2]
    facts = [use.record_id for use in found.context if use.kind == "relationship"]
    assert facts == ["r1", "r0"]


def test_two_nodes_without_an_edge_are_joined_by_the_shortest_path() -> None:
    found = answer(small_index(bridged=False), "How is Anna Velm connected to River Guild?")
    queries = section_told(found, "Queries")
    assert (queries.column("made by")[-1], queries.column("rows")[-1]) == ("template path", 1)
    assert {use.record_id for use in found.context} >= {"r0", "r1", "e Mill House"}


def test_what_is_asked_of_a_node_itself_is_looked_up() -> None:
    found = answer(small_index(bridged=False), "What is Town Choir?")
    assert column(found, "Queries", "made by")[0] == "template attributes"


def test_members_of_a_community_are_listed() -> None:
    found = answer(small_index(bridged=False), "Who is in the community of Ida Noor?")
    assert column(found, "Queries", "made by")[0] == "template members"
    assert {use.title for use in found.context if use.kind == "entity"} == {
        "Ida Noor",
        "Town Choir",
        "Harvest Fair",
    }


def test_context_nodes_bring_in_facts_of_their_home() -> None:
    index = small_index()
    found = answer(index, OWNER)
    assert column(found, "Context nodes", "context node") == ["Otto Brand"]
    assert brought(found) == OF_IRON
    assert {use.record_id for use in found.context} >= {"r2", "r3"}
    assert "1 context node brought in 2 relationships" in (found.why or "")
    similar = column(found, "Brought in", "similarity")
    assert similar == sorted(similar, reverse=True)
    without = answer(index, OWNER, GraphSearchSettings(propagation=False))
    assert not without.section("Brought in")
    assert fact(without, "Route through the graph", "context nodes") == "search.graph.propagation is off"
    assert not {"r2", "r3"} & {use.record_id for use in without.context}
    fewer = answer(index, OWNER, GraphSearchSettings(brought_in=1))
    assert column(fewer, "Brought in", "similarity") == similar[:1]


def test_an_entity_that_is_a_context_node_leads_to_the_community_it_resembles() -> None:
    found = answer(small_index(), "What did Otto Brand found?")
    assert brought(found) >= {("Anna Velm", "owns", "Mill House"), ("River Guild", "repaired", "Mill House")}


def test_context_nodes_of_other_communities_lead_nowhere() -> None:
    elsewhere = {**BRIDGE, "community_id": "k-choir"}
    found = answer(with_bridges(small_index(), elsewhere), OWNER)
    assert not found.section("Brought in")
    assert not found.section("Context nodes")
    assert fact(found, "Route through the graph", "context nodes") == "no context node leads on from there"


def test_without_vectors_the_strongest_edges_are_brought_in() -> None:
    found = answer(small_index(with_vectors=False), OWNER)
    assert brought(found) == OF_IRON
    assert set(column(found, "Brought in", "similarity")) == {None}


def test_vectors_of_context_nodes_alone_serve_where_there_are_no_others() -> None:
    whole = small_index()
    assert whole.entity_vectors is not None
    own = whole.entity_vectors.filter(entity_id="e Otto Brand")
    found = answer(replace(whole, entity_vectors=None, context_vectors=own), OWNER)
    similar = column(found, "Brought in", "similarity")
    assert similar
    assert all(isinstance(one, float) for one in similar)


def test_a_broad_question_without_names_reads_the_nearest_summaries() -> None:
    found = answer(
        small_index(), "What are the main events around choirs and singing?", GraphSearchSettings(summaries=1)
    )
    assert fact(found, "Route through the graph", "route") == "global"
    assert section_told(found, "Communities").ids("community") == ["k-choir"]
    assert [use.kind for use in found.context] == ["report"]
    mill = answer(
        small_index(), "What are the main events around mills and floods?", GraphSearchSettings(summaries=1)
    )
    assert [use.record_id for use in mill.context if use.kind == "report"] == ["k-mill"]
    assert brought(mill) == OF_IRON


def test_stored_summaries_are_looked_up_by_a_query_and_read_where_they_are_wanted() -> None:
    question = "What are the main events around choirs and singing?"
    index = small_index()
    short = index.reports.with_columns(summary=pl.lit("A choir that sings [Data: Entities (1)]."))
    index = replace(index, reports=short)
    whole = answer(index, question, GraphSearchSettings(summaries=1))
    synopsis = answer(index, question, GraphSearchSettings(summaries=1, shown="synopses"))
    for found in (whole, synopsis):
        (text,) = column(found, "Queries", "query")
        assert text.startswith("MATCH (r:Report)-[:REPORTS_ON]->(c:Community)")
        (values,) = column(found, "Queries", "values")
        assert json.loads(values) == {"communities": ["k-choir"]}
    (report,), (summary,) = whole.context, synopsis.context
    assert (report.record_id, summary.record_id) == ("k-choir", "k-choir")
    assert summary.tokens < report.tokens


def test_a_broad_question_about_a_node_stays_in_the_communities_found() -> None:
    question = "What are the main events in the history of Mill House?"
    found = answer(small_index(bridged=False), question, GraphSearchSettings(summaries=1))
    assert fact(found, "Route through the graph", "route") == "hybrid"
    (values,) = column(found, "Queries", "values")
    assert set(json.loads(values)["within"]) == {"e Anna Velm", "e Mill House", "e River Guild"}
    assert {use.record_id for use in found.context if use.kind == "relationship"} == {"r0", "r1"}


class Chooses:
    """A router that gives one route."""

    engine = "llm"

    def __init__(self, method: str | None) -> None:
        self.method = method
        self.offered: list[str] = []

    def route(self, question: str, ways: dict[str, str], names: list[str]) -> Routed:
        self.offered = list(ways)
        return Routed(self.method, "so" if self.method else "", None if self.method else "it was no JSON")


def test_a_model_may_choose_both_without_names_and_then_all_edges_of_the_part_are_found() -> None:
    router = Chooses("hybrid")
    found = answer(
        small_index(bridged=False),
        "What happened by the weir?",
        GraphSearchSettings(summaries=1),
        options={"routing": "model"},
        graph_router=router,
    )
    assert (
        fact(found, "Route through the graph", "route"),
        fact(found, "Route through the graph", "chosen by"),
    ) == ("hybrid", "model")
    assert router.offered == ["global", "hybrid"]
    assert column(found, "Queries", "made by") == ["template inside"]
    assert {use.record_id for use in found.context} == {"r2", "r3"}


def test_a_reply_of_no_use_means_both_and_is_told() -> None:
    found = answer(small_index(), OWNER, options={"routing": "model"}, graph_router=Chooses(None))
    assert fact(found, "Route through the graph", "route") == "hybrid"
    assert found.problems == ("route: it was no JSON",)
    assert (found.steps[0].task, found.steps[0].used) == ("route", False)


def test_nothing_to_look_for_is_refused_with_the_reason() -> None:
    index = small_index()
    bare = replace(index, reports=index.reports.clear())
    found = answer(bare, "Who paid?")
    assert found.refused
    assert "there is no report of C0 to be read" in (found.why or "")
    assert not found.context
    assert fact(answer(bare, "Give an overview of Mill House"), "Route through the graph", "route") == "local"


def test_a_level_that_is_not_there_is_an_error() -> None:
    with pytest.raises(QuestionError, match="there is no level C7; there are C0"):
        answer(small_index(), OWNER, level=7)


def test_where_no_report_of_the_level_was_written_those_above_are_read() -> None:
    whole = small_index(bridged=False)
    # The first community is not divided, so that it is one of C1 as well.
    lower = whole.community_levels.with_columns(
        pl.lit(1, pl.Int32).alias("level"),
        community_id=pl.when(pl.col("community_id") == next(iter(COMMUNITIES)))
        .then("community_id")
        .otherwise(pl.format("{} below", "community_id")),
    )
    divided = lower.filter(pl.col("community_id").str.ends_with(" below")).select("community_id", "level")
    index = replace(
        whole,
        community_levels=pl.concat([whole.community_levels, lower]),
        communities=filled(
            tables.COMMUNITIES,
            [*whole.communities.to_dicts(), *divided.unique(maintain_order=True).to_dicts()],
        ),
    )
    found = answer(index, "What are the main themes?", level=1)
    assert found.level == 0
    assert "C0 is read, since there is no report of C1" in (found.why or "")
    assert {use.record_id for use in found.context if use.kind == "report"} == set(COMMUNITIES)
    below = whole.reports.with_columns(
        pl.lit(1, pl.Int32).alias("level"), report_id=pl.format("{} below", "report_id")
    )
    both = replace(index, reports=pl.concat([whole.reports, below]))
    found = answer(both, "What are the main themes?", level=1)
    assert (found.level, "is read, since" in (found.why or "")) == (1, False)


def test_the_context_stays_within_its_tokens() -> None:
    for tokens in (200, 60, 30):
        found = answer(small_index(), OWNER, options={"context_tokens": tokens})
        assert sum(use.tokens for use in found.context) <= tokens


def test_a_restricted_index_holds_nothing_of_other_documents() -> None:
    whole = small_index()
    inside = restrict_index(whole, {"d mill.txt"})
    assert inside.graph is None
    assert inside.triples is not None
    assert set(inside.triples["triple_id"]) == {"t0", "t1"}
    assert inside.context_nodes is not None
    assert inside.context_nodes.is_empty()
    assert inside.context_vectors is None
    both = restrict_index(whole, {"d mill.txt", "d iron.txt"})
    assert both.context_nodes is not None
    assert both.context_nodes.height == 1
    found = answer(inside, OWNER)
    assert not brought(found)
    assert {use.record_id for use in found.context} == {"e Mill House", "r0", "r1"}


@given(st.integers(0, 10_000))
def test_smoothing_is_the_weighted_mean_of_the_neighbours(seed: int) -> None:
    made = np.random.default_rng(seed)
    vectors = made.normal(size=(6, 3)).astype(np.float32)
    vectors[made.random(6) < 0.3] = 0
    weights = np.triu((made.random((6, 6)) < 0.5) * made.integers(1, 9, (6, 6)), 1).astype(float)
    one, other = np.nonzero(weights)
    lists = WeightedLists.of_pairs(
        6, np.concatenate([one, other]), np.concatenate([other, one]), np.tile(weights[one, other], 2)
    )
    found = Smoothed({str(n): n for n in range(6)}, vectors, lists).of([str(n) for n in range(6)])
    whole = weights + weights.T
    for n in range(6):
        told = [m for m in range(6) if whole[n, m] and vectors[m].any()]
        mean = np.average(vectors[told], axis=0, weights=whole[n, told]) if told else 0
        wanted = vectors[n] + mean
        length = np.linalg.norm(wanted)
        assert found[n] == pytest.approx(wanted / length if length > 1e-6 else found[n], abs=1e-5)


def test_likeness_needs_vectors_of_the_embedder_that_asks() -> None:
    index = small_index()
    pairs = [("e Otto Brand", "e Iron Works"), ("e Ida Noor", "e Town Choir")]
    iron, choir = likeness(search(index, "Who founded the iron works?"), pairs)  # type: ignore[misc]
    assert iron > choir
    assert index.entity_vectors is not None
    other = replace(index, entity_vectors=index.entity_vectors.with_columns(embedder=pl.lit("another")))
    assert likeness(search(other, "Who founded the iron works?"), pairs) is None


def test_a_path_that_leaves_the_part_is_not_followed() -> None:
    question = "Describe how Anna Velm is connected to Otto Brand"
    bridging = {**BRIDGE, "entity_id": "e Ida Noor", "home_id": "k-choir"}
    found = answer(
        with_bridges(small_index(), bridging), question, GraphSearchSettings(summaries=1, propagation=False)
    )
    assert fact(found, "Route through the graph", "route") == "hybrid"
    part = {
        "e Ida Noor",
        *(f"e {one}" for k in section_told(found, "Communities").ids("community") for one in COMMUNITIES[k]),
    }
    ends = {
        f"e {end}" for use in found.context if use.kind == "relationship" for end in use.title.split(" — ")
    }
    assert ends <= part


def test_a_label_that_says_nothing_is_no_relation_that_is_named() -> None:
    index = small_index(bridged=False)
    assert index.triples is not None
    vague = replace(index, triples=index.triples.with_columns(relation=pl.lit("related_to")))
    found = answer(vague, "What is Mill House related to?")
    assert "template by_relation" not in column(found, "Queries", "made by")
