"""The backgrounds of a corpus: how alike texts are that have nothing to do with each other."""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import polars as pl

from graphrag_dagster.core.coterag.indexing.calibration import background, pseudo_questions
from graphrag_dagster.core.coterag.vectors import Vectors
from graphrag_dagster.core.ranks import Scores
from graphrag_dagster.core.text.embedder import CorpusEmbedder
from graphrag_dagster.core.text.sentences import sentence_spans

#: Text units whose sentences may stand for questions.
_UNITS: Final = 2_000
#: Characters from which a sentence says enough to stand for a question.
_LEAST_CHARACTERS: Final = 25


def corpus_backgrounds(
    *,
    embedder: CorpusEmbedder,
    seed: int,
    entities: pl.DataFrame,
    text_chunks: pl.DataFrame,
    members: pl.DataFrame,
    description_vectors: pl.DataFrame,
    summary_vectors: pl.DataFrame,
    chunk_vectors: pl.DataFrame,
) -> dict[str, Scores]:
    """Return cosines of texts that stand for questions with rows of other documents, by set of rows.

    Args:
        embedder: of the questions.
        seed: of what is drawn.
        entities: rows of ``graph.entities``.
        text_chunks: rows of ``corpus.text_chunks``.
        members: rows of ``coterag.members``.
        description_vectors: rows of ``coterag.description_vectors``.
        summary_vectors: rows of ``coterag.summary_vectors``.
        chunk_vectors: rows of ``embeddings.text_units``.

    Raises:
        GraphragError: vectors of another embedder.
    """
    of_unit = text_chunks.select("text_unit_id", "document_id")
    of_entity = (
        entities.select("entity_id", "title", text_unit_id="text_unit_ids")
        .explode("text_unit_id")
        .join(of_unit, on="text_unit_id")
        .group_by("entity_id", "title")
        .agg(documents=pl.col("document_id").unique().sort())
        .sort("entity_id")
    )
    of_community = (
        members.select("community_id", "entity_id")
        .join(of_entity.explode("documents"), on="entity_id")
        .group_by("community_id")
        .agg(documents=pl.col("documents").unique().sort())
    )
    asked = pseudo_questions(of_entity.select("title", "documents"), _sentences(text_chunks, seed), seed=seed)
    texts = asked["text"].to_list()
    questions = Vectors(texts, np.asarray(embedder.embed_queries(texts), dtype=np.float32), embedder.name)
    documents: Sequence[Sequence[str]] = asked["documents"].to_list()

    def against(frame: pl.DataFrame, key: str, behind: Mapping[str, Sequence[str]]) -> Scores:
        items = Vectors.of(frame, key, embedder.name)
        return background(questions, documents, items, behind, seed=seed)

    return {
        "summaries": against(
            summary_vectors,
            "community_id",
            dict(of_community.select("community_id", "documents").iter_rows()),
        ),
        "descriptions": against(
            description_vectors, "entity_id", dict(of_entity.select("entity_id", "documents").iter_rows())
        ),
        "chunks": against(
            chunk_vectors, "text_unit_id", {unit: (document,) for unit, document in of_unit.iter_rows()}
        ),
    }


def _sentences(text_chunks: pl.DataFrame, seed: int) -> pl.DataFrame:
    ordered = text_chunks.sort("text_unit_id").select("document_id", "text")
    if len(ordered) > _UNITS:
        places = np.random.default_rng(seed).choice(len(ordered), _UNITS, replace=False)
        ordered = ordered.gather(np.sort(places).tolist())
    rows = [
        (text[span.start : span.end], document)
        for document, text in ordered.iter_rows()
        for span in sentence_spans(text)
        if span.end - span.start >= _LEAST_CHARACTERS
    ]
    return pl.DataFrame(rows, schema={"text": pl.String, "document": pl.String}, orient="row")
