"""From the tables of an index to what answering reads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.questions.scope.restricting import INSIDE, among, stated, within
from graphrag_dagster.systems.coterag.index.triples import entity_chunks, triple_graph
from graphrag_dagster.systems.coterag.options import Profile, Thresholds
from graphrag_dagster.systems.coterag.search.snapshot import CoteragSnapshot
from graphrag_dagster.systems.coterag.search.vectors import Vectors
from graphrag_dagster.systems.coterag.tables import (
    COTERAG_DESCRIPTION_VECTORS,
    COTERAG_MEMBERS,
    COTERAG_QUOTES,
    COTERAG_STORES,
    COTERAG_SUMMARIES,
    COTERAG_SUMMARY_VECTORS,
    COTERAG_TERMS,
    COTERAG_THRESHOLDS,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from graphrag_dagster.kernel.questions.context.index import IndexSnapshot
    from graphrag_dagster.kernel.tables import Table


@dataclass(frozen=True)
class CoteragTables:
    """Frames with the columns that ``tables`` declares: of ``graph.triples``, and of the schema ``coterag``.

    ``left_out``: communities that are not there, since they speak of documents beyond those that are asked.
    """

    TABLES: ClassVar[Mapping[str, Table]] = MappingProxyType(
        {
            "triples": tables.TRIPLES,
            "stores": COTERAG_STORES,
            "members": COTERAG_MEMBERS,
            "summaries": COTERAG_SUMMARIES,
            "summary_quotes": COTERAG_QUOTES,
            "terms": COTERAG_TERMS,
            "description_vectors": COTERAG_DESCRIPTION_VECTORS,
            "summary_vectors": COTERAG_SUMMARY_VECTORS,
            "thresholds": COTERAG_THRESHOLDS,
        }
    )

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

    def texts(self, entities: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """Return what summaries and triples say, these as a sentence each: the id and the text."""
        titles = entities.select("entity_id", "title")
        sentences = (
            self.triples.join(titles.rename({"title": "from"}), left_on="head_id", right_on="entity_id")
            .join(titles.rename({"title": "to"}), left_on="tail_id", right_on="entity_id")
            .select("triple_id", pl.format("{} {} {}.", "from", "relation", "to"))
        )
        return {"summary": self.summaries.select("community_id", "text"), "triple": sentences}

    def restricted(self, unit_ids: pl.Series, entity_ids: pl.Series) -> CoteragTables:
        """Return them as if only some text units and entities were there.

        A community stays where all that is stated of its entities does; the entities of the others are
        searched as those of the preserved store are.
        """
        triples = within(self.triples, unit_ids)
        outside = triples.filter(~pl.col(INSIDE))
        beyond = among(self.members, "entity_id", pl.concat([outside["head_id"], outside["tail_id"]]))
        absent = self.members.filter(~pl.col("entity_id").is_in(entity_ids.implode()))
        gone = pl.concat([beyond["community_id"], absent["community_id"]]).unique()
        staying = ~pl.col("community_id").is_in(gone.implode())
        members = self.members.filter(staying)
        apart = ~pl.col("entity_id").is_in(members["entity_id"].implode())
        stores = self.stores.with_columns(store=pl.when(apart).then(pl.lit("preserved")).otherwise("store"))
        return replace(
            self,
            triples=stated(self.triples, unit_ids),
            stores=among(stores, "entity_id", entity_ids),
            members=members,
            summaries=self.summaries.filter(staying),
            summary_quotes=self.summary_quotes.filter(staying),
            terms=self.terms.filter(staying),
            description_vectors=among(self.description_vectors, "entity_id", entity_ids),
            summary_vectors=self.summary_vectors.filter(staying),
            left_out=len(gone),
        )


def stored_in(index: IndexSnapshot) -> CoteragTables | None:
    """Return the tables of an index; None where it was made without CoTeRAG-S."""
    found = index.parts.get("coterag")
    return found if isinstance(found, CoteragTables) else None


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
