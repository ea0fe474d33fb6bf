"""From the tables of an index to what answering reads."""

from dataclasses import dataclass

import polars as pl

from graphrag_dagster.core.coterag.indexing.triples import entity_chunks, triple_graph
from graphrag_dagster.core.coterag.options import Profile, Thresholds
from graphrag_dagster.core.coterag.snapshot import CoteragSnapshot
from graphrag_dagster.core.coterag.vectors import Vectors


@dataclass(frozen=True)
class CoteragTables:
    """Frames with the columns that ``tables`` declares: of ``graph.triples``, and of the schema ``coterag``.

    ``left_out``: communities that are not there, since they speak of documents beyond those that are asked.
    """

    triples: pl.DataFrame
    stores: pl.DataFrame
    members: pl.DataFrame
    summaries: pl.DataFrame
    summary_quotes: pl.DataFrame
    terms: pl.DataFrame
    description_vectors: pl.DataFrame
    summary_vectors: pl.DataFrame
    thresholds: pl.DataFrame
    left_out: int = 0

    @property
    def profile(self) -> Profile:
        """Where the thresholds come from."""
        made: Profile = self.thresholds["profile"][0]
        return made


def snapshot_of(
    stored: CoteragTables,
    *,
    entities: pl.DataFrame,
    documents: pl.DataFrame,
    text_chunks: pl.DataFrame,
    unit_vectors: pl.DataFrame,
) -> CoteragSnapshot:
    """Return the tables as answering reads them.

    Args:
        stored: they, and ``graph.triples``.
        entities: rows of ``graph.entities``.
        documents: rows of ``corpus.documents``.
        text_chunks: rows of ``corpus.text_chunks``.
        unit_vectors: rows of ``embeddings.text_units``.

    Raises:
        GraphragError: vectors are of several embedders, or cannot be compared.
    """
    graph = triple_graph(entities, stored.triples)
    placed = entities.select("entity_id", "title").join(
        stored.stores.select("entity_id", "store"), on="entity_id", maintain_order="left"
    )
    of_entity = stored.members.select("entity_id", "community_id")
    head, tail = (
        of_entity.rename({"entity_id": end, "community_id": f"of_{end}"}) for end in ("head_id", "tail_id")
    )
    ids = graph.entities["entity_id"]
    triples = (
        graph.triples.select(
            "relation", "text_unit_ids", head_id=ids.gather(graph.head), tail_id=ids.gather(graph.tail)
        )
        .join(head, on="head_id", how="left", maintain_order="left")
        .join(tail, on="tail_id", how="left", maintain_order="left")
        .with_columns(community_id=pl.when(pl.col("of_head_id") == pl.col("of_tail_id")).then("of_head_id"))
        .drop("of_head_id", "of_tail_id")
    )
    limits = dict(stored.thresholds.select("threshold", "value").iter_rows())
    embedder = str(stored.thresholds["embedder"][0])
    return CoteragSnapshot(
        entities=placed.join(of_entity, on="entity_id", how="left", maintain_order="left"),
        triples=triples,
        entity_chunks=entity_chunks(graph),
        chunks=text_chunks.select("text_unit_id", "document_id", "text")
        .join(documents.select("document_id", "title"), on="document_id", maintain_order="left")
        .select("text_unit_id", "title", "text"),
        summaries=stored.summaries,
        community_terms=stored.terms,
        descriptions=Vectors.of(stored.description_vectors, "entity_id", embedder),
        chunk_vectors=Vectors.of(unit_vectors, "text_unit_id", embedder),
        summary_vectors=Vectors.of(stored.summary_vectors, "community_id", embedder),
        route=limits.pop("route"),
        thresholds=Thresholds(**limits),
    )
