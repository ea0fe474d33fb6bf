"""Summaries of communities by rule, and what they are made of."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from graphrag_dagster.kernel.tasks.task_ports import Quote
from graphrag_dagster.kernel.text.markup_spans import Span
from graphrag_dagster.systems.coterag.extractive import ExtractiveCommunitySummariser
from graphrag_dagster.systems.coterag.index.summary_requests import summary_requests
from graphrag_dagster.systems.coterag.index.triple_communities import (
    TripleGraph,
    leiden_communities,
    stores,
    triple_graph,
)
from graphrag_dagster.systems.coterag.search.term_coverage import community_terms
from graphrag_dagster.systems.coterag.tasks import (
    SourceSentence,
    SummaryEntity,
    SummaryRequest,
    SummaryTriple,
)
from support.coterag_graphs import entity_rows

NAMES = ["Remdesivir", "COVID-19", "Fever", "Lopinavir", "Cough"]
TEXT = (
    "Remdesivir treats COVID-19. COVID-19 causes fever and cough. Nobody knows why. Lopinavir also treats "
    "covid-19, as remdesivir does."
)
TRIPLES = [
    ("Remdesivir", "treats", "COVID-19"),
    ("COVID-19", "causes", "Fever"),
    ("COVID-19", "causes", "Cough"),
    ("Lopinavir", "treats", "COVID-19"),
]
CHUNKS = pl.DataFrame({"text_unit_id": ["u1", "u2"], "text": [TEXT, f"{TEXT} More."]})


def small() -> TripleGraph:
    rows = [(*triple, ["u1", "u2"]) for triple in TRIPLES]
    schema = {
        "head": pl.String,
        "relation": pl.String,
        "tail": pl.String,
        "text_unit_ids": pl.List(pl.String),
    }
    return triple_graph(entity_rows(NAMES), pl.DataFrame(rows, schema=schema, orient="row"))


def requests() -> list[SummaryRequest]:
    graph = small()
    return list(summary_requests(graph, leiden_communities(graph, stores(graph)), CHUNKS))


def test_a_request_holds_members_triples_and_the_sentences_that_state_them() -> None:
    [request] = requests()
    assert request.entities[0] == SummaryEntity("COVID-19", "thing", 4)
    assert request.exact_names(2) == ("COVID-19", "Cough")
    assert [one.combined_degree for one in request.triples] == [5] * 4
    assert request.triples[0].text == "COVID-19 causes Cough."
    stated = {one.text: {request.triples[place].text for place in one.triples} for one in request.sentences}
    assert stated == {
        "Remdesivir treats COVID-19.": {"Remdesivir treats COVID-19."},
        "COVID-19 causes fever and cough.": {"COVID-19 causes Cough.", "COVID-19 causes Fever."},
        "Lopinavir also treats covid-19, as remdesivir does.": {
            "Lopinavir treats COVID-19.",
            "Remdesivir treats COVID-19.",
        },
    }
    for one in request.sentences:
        assert one.quote.unit_id == "u1"
        assert TEXT[one.quote.span.start : one.quote.span.end] == one.text
    assert request.terms[:2] == ("covid-19", "remdesivir")


def test_a_summary_quotes_what_states_most_and_names_all() -> None:
    [request] = requests()
    [summary] = ExtractiveCommunitySummariser().summarise([request])
    assert summary.title == "COVID-19, Cough, Fever, Lopinavir, Remdesivir"
    assert summary.text == (
        "COVID-19 causes fever and cough. Lopinavir also treats covid-19, as remdesivir does. "
        "Entities: COVID-19, Cough, Fever, Lopinavir, Remdesivir."
    )
    assert [TEXT[one.span.start : one.span.end] for one in summary.quotes] == summary.text.split(" Entities")[
        0
    ].replace(". ", ".|").split("|")
    [short] = ExtractiveCommunitySummariser(most_words=5, exact_names=1).summarise([request])
    assert short.text == "COVID-19 causes fever and cough. Entities: COVID-19."


def test_terms_of_a_community_are_those_of_its_summary_names_and_relations() -> None:
    graph = small()
    found = leiden_communities(graph, stores(graph))
    community = found.communities["community_id"].item()
    summaries = pl.DataFrame({"community_id": [community], "title": ["Drugs"], "text": ["Antivirals."]})
    terms = community_terms(graph, found, summaries)["term"].to_list()
    assert terms == sorted(
        ["antivir", "caus", "cough", "covid-19", "drug", "fever", "lopinavir", "remdesivir", "treat"]
    )


def test_where_no_sentence_states_a_triple_the_triples_stand() -> None:
    triples = tuple(SummaryTriple(f"A{n}", "leads to", f"B{n}", 2) for n in range(100))
    bare = SummaryRequest("c", (SummaryEntity("A0", "x", 1),), triples)
    [summary] = ExtractiveCommunitySummariser(most_words=12).summarise([bare])
    assert summary.text == "A0 leads to B0. A1 leads to B1. A2 leads to B2. Entities: A0."
    sentence = SourceSentence("A0 leads to B0, says one.", Quote("u", Span(0, 5)), (0,))
    tiny = SummaryRequest("c", bare.entities, triples[:1], (), (sentence,), tiny=True)
    [listed] = ExtractiveCommunitySummariser().summarise([tiny])
    assert (listed.text, listed.quotes) == ("A0 leads to B0. Entities: A0.", ())


pools = st.lists(st.tuples(st.integers(1, 30), st.sets(st.integers(0, 9), max_size=4)), max_size=25)


@given(pools, st.integers(5, 80))
def test_every_sentence_adds_a_triple_and_all_keep_to_the_words(
    pool: list[tuple[int, set[int]]], most: int
) -> None:
    triples = tuple(SummaryTriple(f"A{n}", "to", f"B{n}", 1) for n in range(10))
    sentences = tuple(
        SourceSentence(" ".join(["word"] * size), Quote(str(place), Span(0, 1)), tuple(sorted(states)))
        for place, (size, states) in enumerate(pool)
    )
    request = SummaryRequest("c", (SummaryEntity("A0", "x", 1),), triples, (), sentences)
    [summary] = ExtractiveCommunitySummariser(most_words=most).summarise([request])
    chosen = [pool[int(one.unit_id)] for one in summary.quotes]
    assert sum(size for size, _ in chosen) <= most
    assert all(states for _, states in chosen)
    stated = set().union(*(states for _, states in chosen))
    left = most - sum(size for size, _ in chosen)
    assert not any(states - stated and size <= left for size, states in pool)
