"""From triples to an answer, with the packaged vectors and without a model."""

import polars as pl
import pytest

from graphrag_dagster.kernel.models.embedders import CorpusEmbedder
from graphrag_dagster.kernel.models.local_embedders import shared_static
from graphrag_dagster.kernel.tasks.embedded_rows import embed_rows
from graphrag_dagster.kernel.text.tokenization import get_tokenizer
from graphrag_dagster.systems.coterag.extractive import (
    ExtractiveAnswerValidator,
    ExtractiveCommunitySummariser,
    ExtractiveEvidenceAnswerer,
    ExtractiveEvidenceRouter,
)
from graphrag_dagster.systems.coterag.index.entity_descriptions import descriptions
from graphrag_dagster.systems.coterag.index.summary_requests import summary_requests
from graphrag_dagster.systems.coterag.index.threshold_calibration import (
    background,
    calibrate,
    pseudo_questions,
)
from graphrag_dagster.systems.coterag.index.triple_communities import (
    entity_chunks,
    leiden_communities,
    stores,
    triple_graph,
)
from graphrag_dagster.systems.coterag.search.answer_loop import CoteragEngines, run_answer_loop
from graphrag_dagster.systems.coterag.search.coterag_snapshot import CoteragSnapshot
from graphrag_dagster.systems.coterag.search.term_coverage import community_terms
from graphrag_dagster.systems.coterag.search.vector_matching import Vectors
from graphrag_dagster.systems.coterag.settings import CoteragSettings
from support.coterag_graphs import entity_rows

THEMES = {
    "medicine": (["Remdesivir", "fever", "pneumonia", "aspirin", "cough", "antibody"], "treats"),
    "harbour": (["pilot", "lighthouse", "ferry", "quay", "dredger", "tugboat"], "serves"),
    "baking": (["baker", "sourdough", "oven", "flour", "yeast", "rye"], "needs"),
}
ALONE = ("Mount Velm", "A volcano called Mount Velm erupted beside the glacier in spring.")


def index() -> CoteragSnapshot:
    embedder = shared_static()
    triples, texts, units = [], {}, {}
    for theme, (names, relation) in THEMES.items():
        for place, head in enumerate(names):
            for step in (1, 2):
                tail, unit = names[(place + step) % len(names)], f"{theme}-{place}-{step}"
                triples.append((head, relation, tail, [unit]))
                texts[unit] = f"In the matter of {theme}, {head} {relation} {tail} on most days."
    texts["alone"] = ALONE[1]
    units[ALONE[0]] = ["alone"]
    schema = {
        "head": pl.String,
        "relation": pl.String,
        "tail": pl.String,
        "text_unit_ids": pl.List(pl.String),
    }
    entities = entity_rows([*(one for names, _ in THEMES.values() for one in names), ALONE[0]], units)
    graph = triple_graph(entities, pl.DataFrame(triples, schema=schema, orient="row"))
    parted = stores(graph)
    found = leiden_communities(graph, parted)
    chunks = pl.DataFrame({"text_unit_id": list(texts), "title": "doc", "text": list(texts.values())})
    requests = list(summary_requests(graph, found, chunks))
    told = [
        (one.community_id, made.title, made.text)
        for one, made in zip(requests, ExtractiveCommunitySummariser().summarise(requests), strict=True)
    ]
    summaries = pl.DataFrame(told, schema=["community_id", "title", "text"], orient="row")
    described = descriptions(graph, get_tokenizer("cl100k_base"))

    def vectors(frame: pl.DataFrame, key: str, text: str) -> Vectors:
        return Vectors.of(embed_rows(frame[key], frame[text], embedder), key, embedder.name)

    made = {
        "summaries": vectors(summaries, "community_id", "text"),
        "descriptions": vectors(described, "entity_id", "description"),
        "chunks": vectors(chunks, "text_unit_id", "text"),
    }
    owned = entity_chunks(graph)
    titles = graph.entities.select("entity_id", "title").join(
        owned.group_by("entity_id").agg(documents="text_unit_id"), on="entity_id"
    )
    asked = pseudo_questions(titles, chunks.select("text", document="text_unit_id"), seed=1)
    questions = Vectors(asked["text"].to_list(), embedder.embed(asked["text"].to_list()), embedder.name)
    behind = {
        "summaries": {},
        "descriptions": dict(titles.select("entity_id", "documents").iter_rows()),
        "chunks": {unit: [unit] for unit in texts},
    }
    thresholds = calibrate(
        {
            name: background(questions, asked["documents"].to_list(), made[name], behind[name], seed=1)
            for name in made
        },
        CoteragSettings(),
    )
    assert thresholds.rows.filter(pl.col("threshold") == "chunk")["source"].item() == "calibrated"
    community = found.members.select("entity_id", "community_id")
    ids, inside = graph.entities["entity_id"], pl.Series(found.triples_inside(graph))
    names = dict(found.communities.select("number", "community_id").iter_rows())
    return CoteragSnapshot(
        entities=graph.entities.select("entity_id", "title")
        .join(parted.select("entity_id", "store"), on="entity_id")
        .join(community, on="entity_id", how="left"),
        triples=graph.triples.select(
            "relation",
            "text_unit_ids",
            head_id=ids.gather(graph.head),
            tail_id=ids.gather(graph.tail),
            community_id=inside.replace_strict(names, default=None, return_dtype=pl.String),
        ),
        entity_chunks=owned,
        chunks=chunks,
        summaries=summaries,
        community_terms=community_terms(graph, found, summaries),
        descriptions=made["descriptions"],
        chunk_vectors=made["chunks"],
        summary_vectors=made["summaries"],
        thresholds=thresholds.thresholds,
        route=thresholds.route,
    )


@pytest.fixture(scope="module")
def whole() -> CoteragSnapshot:
    return index()


def ask(whole: CoteragSnapshot, question: str):
    embedder = shared_static()
    engines = CoteragEngines(
        CorpusEmbedder(embedder),
        ExtractiveEvidenceRouter(),
        ExtractiveEvidenceAnswerer(embedder),
        ExtractiveAnswerValidator(),
    )
    return run_answer_loop(question, whole, engines, CoteragSettings())


def test_a_question_finds_its_community_and_quotes_its_texts(whole: CoteragSnapshot) -> None:
    answer = ask(whole, "Who needs flour and sourdough in baking?")
    found = answer.trace.retrieved
    assert found is not None
    assert answer.trace.route.route == "specific"
    best = found.communities[0]
    assert (best.match_class, best.selected) == ("high_confidence", True)
    assert "sourdough" in whole.summary_of[best.community_id][1]
    assert not answer.insufficient
    assert "flour" in answer.answer.text
    assert all(text in {text for _, text in whole.texts.values()} for text, _, _ in answer.answer.quotes)
    assert ask(whole, "Who needs flour and sourdough in baking?").trace == answer.trace


def test_what_stands_apart_is_found_by_the_fallback_alone(whole: CoteragSnapshot) -> None:
    answer = ask(whole, "Which volcano erupted beside the glacier: Mount Velm?")
    assert answer.trace.only_by_fallback == ("alone",)
    assert ALONE[1] in answer.answer.text
    assert not answer.insufficient
