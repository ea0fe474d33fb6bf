"""All that answering reads of an index, as frames and vectors."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from graphrag_dagster.kernel.text.english_words import STOP_WORDS
from graphrag_dagster.systems.coterag.index.triples import Places
from graphrag_dagster.systems.coterag.options import Thresholds
from graphrag_dagster.systems.coterag.search.vectors import Vectors
from graphrag_dagster.systems.coterag.terms import folded_words, terms

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
    def apart(self) -> list[str]:
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
        """Return the terms of a text unit, which are remembered."""
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
