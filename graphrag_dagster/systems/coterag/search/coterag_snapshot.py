"""The tables and vectors of an index that answering reads."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from graphrag_dagster.errors import GraphragError
from graphrag_dagster.kernel.questions.scope.scope_selection import (
    INSIDE,
    rows_in_units,
    rows_with,
    stated_triples,
)
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.text.english_words import STOP_WORDS
from graphrag_dagster.systems.coterag.coterag_options import Profile, Thresholds
from graphrag_dagster.systems.coterag.index.triple_communities import Places, entity_chunks, triple_graph
from graphrag_dagster.systems.coterag.search.term_coverage import folded_words, terms
from graphrag_dagster.systems.coterag.search.vector_matching import Vectors
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

    from graphrag_dagster.kernel.questions.context.index_snapshot import IndexSnapshot
    from graphrag_dagster.kernel.tables.table_declaration import Table


#: Most words of a name that is looked for in questions.
LONGEST_NAME = 8


@dataclass(frozen=True)
class CoteragSnapshot:
    """An index.

    Attributes:
        entities: ``entity_id``, ``title``, ``store`` (``main``, ``preserved``) and ``community_id`` (null for
            none).
        triples: ``head_id``, ``tail_id``, ``relation``, ``community_id`` (that of both ends, null where they
            differ) and ``text_unit_ids``.
        entity_chunks: ``entity_id``, ``text_unit_id``.
        chunks: ``text_unit_id``, ``title`` (of the document) and ``text``.
        summaries: ``community_id``, ``title`` and ``text``.
        community_terms: ``community_id``, ``term``.
        descriptions: vectors of entities.
        chunk_vectors: vectors of text units.
        summary_vectors: vectors of summaries.
        thresholds: in force.
        route: cosine of a question to some entity from which on it is about what the documents are about.
    """

    entities: pl.DataFrame
    triples: pl.DataFrame
    entity_chunks: pl.DataFrame
    chunks: pl.DataFrame
    summaries: pl.DataFrame
    community_terms: pl.DataFrame
    descriptions: Vectors
    chunk_vectors: Vectors
    summary_vectors: Vectors
    thresholds: Thresholds
    route: float

    @cached_property
    def titles(self) -> dict[str, str]:
        """Titles of entities by id."""
        return dict(self.entities.select("entity_id", "title").iter_rows())

    @cached_property
    def texts(self) -> dict[str, tuple[str, str]]:
        """Title of the document and text of every text unit by its id."""
        rows = self.chunks.select("text_unit_id", "title", "text").iter_rows()
        return {unit: (title, text) for unit, title, text in rows}

    @cached_property
    def summary_of(self) -> dict[str, tuple[str, str]]:
        """Title and text of every summary by its community."""
        rows = self.summaries.select("community_id", "title", "text").iter_rows()
        return {community: (title, text) for community, title, text in rows}

    @cached_property
    def preserved(self) -> frozenset[str]:
        """Ids of the entities of the preserved store."""
        return frozenset(self.entities.filter(pl.col("store") == "preserved")["entity_id"])

    @cached_property
    def known_names(self) -> dict[str, str]:
        """Titles of entities by their folded words; of stop words alone is none."""
        keys = ((list(folded_words(title)), title) for title in sorted(self.titles.values()))
        return {
            " ".join(words): title
            for words, title in keys
            if len(words) <= LONGEST_NAME and not STOP_WORDS.issuperset(words)
        }

    @cached_property
    def units_without_entities(self) -> list[str]:
        """Ids of the text units of no entity, which only the preserved store gives, sorted."""
        return sorted(self.texts.keys() - set(self.entity_chunks["text_unit_id"]))

    @cached_property
    def community_places(self) -> Places:
        """Of each entity with a vector the place of its community among the summaries, -1 for none."""
        place = {community: place for place, community in enumerate(self.summary_vectors.ids)}
        of = dict(self.entities.select("entity_id", "community_id").iter_rows())
        return np.array([place.get(of.get(one, ""), -1) for one in self.descriptions.ids], dtype=np.int64)

    @cached_property
    def _stems(self) -> dict[str, set[str]]:
        return {}

    def stems(self, unit_id: str) -> set[str]:
        """Return the terms of a text unit, which are cached."""
        found = self._stems.get(unit_id)
        if found is None:
            found = self._stems[unit_id] = terms(self.texts[unit_id][1])
        return found

    @cached_property
    def holders(self) -> dict[str, list[str]]:
        """Communities by the terms that they hold."""
        rows = self.community_terms.group_by("term").agg("community_id")
        return dict(rows.select("term", "community_id").iter_rows())

    @cached_property
    def preserved_places(self) -> Places:
        """Which of the entities with a vector are of the preserved store."""
        preserved = np.array([one in self.preserved for one in self.descriptions.ids], dtype=np.bool_)
        return np.flatnonzero(preserved)

    @cached_property
    def triple_places(self) -> tuple[Places, Places, Places]:
        """Of each triple the places of head and tail among the vectors, and of its community, -1 for none."""
        community = {one: place for place, one in enumerate(self.summary_vectors.ids)}
        known = self.descriptions.places
        head, tail, inside = (
            np.array([places.get(one, -1) for one in self.triples[name]], dtype=np.int64)
            for name, places in (("head_id", known), ("tail_id", known), ("community_id", community))
        )
        return head, tail, inside

    def members(self, communities: list[str]) -> Places:
        """Return which of the entities with a vector are of some communities."""
        chosen = [place for place, one in enumerate(self.summary_vectors.ids) if one in communities]
        return np.flatnonzero(np.isin(self.community_places, chosen))

    @cached_property
    def _units_by_entity(self) -> dict[str, list[str]]:
        known = self.entity_chunks.filter(pl.col("text_unit_id").is_in(list(self.texts)))
        rows = known.group_by("entity_id").agg("text_unit_id")
        return dict(rows.select("entity_id", "text_unit_id").iter_rows())

    def units_of(self, entity_id: str) -> list[str]:
        """Return the ids of the text units of an entity."""
        return self._units_by_entity.get(entity_id, [])

    def chunks_of(self, entities: list[str]) -> list[str]:
        """Return the ids of the text units of some entities, sorted."""
        return sorted({unit for one in entities for unit in self.units_of(one)})


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
        triples = rows_in_units(self.triples, unit_ids)
        outside = triples.filter(~pl.col(INSIDE))
        beyond = rows_with(self.members, "entity_id", pl.concat([outside["head_id"], outside["tail_id"]]))
        absent = self.members.filter(~pl.col("entity_id").is_in(entity_ids.implode()))
        gone = pl.concat([beyond["community_id"], absent["community_id"]]).unique()
        staying = ~pl.col("community_id").is_in(gone.implode())
        members = self.members.filter(staying)
        apart = ~pl.col("entity_id").is_in(members["entity_id"].implode())
        stores = self.stores.with_columns(store=pl.when(apart).then(pl.lit("preserved")).otherwise("store"))
        return replace(
            self,
            triples=stated_triples(self.triples, unit_ids),
            stores=rows_with(stores, "entity_id", entity_ids),
            members=members,
            summaries=self.summaries.filter(staying),
            summary_quotes=self.summary_quotes.filter(staying),
            terms=self.terms.filter(staying),
            description_vectors=rows_with(self.description_vectors, "entity_id", entity_ids),
            summary_vectors=self.summary_vectors.filter(staying),
            left_out=len(gone),
        )


def coterag_tables_of(index: IndexSnapshot) -> CoteragTables | None:
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
        GraphragError: vectors are of several embedders, or cannot be compared; or a threshold is missing.
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
    if missing := sorted({"route", *(one.name for one in fields(Thresholds))} - limits.keys()):
        raise GraphragError(
            f"coterag.thresholds lacks {', '.join(missing)}: another version made it; index the corpus again"
        )
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
