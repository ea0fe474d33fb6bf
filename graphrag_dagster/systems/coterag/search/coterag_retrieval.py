"""Retrieval for a question from the main graph and the preserved store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from graphrag_dagster.systems.coterag.search.path_traversal import (
    ChunkMatch,
    Edge,
    EntityMatch,
    RetrievedEvidence,
    Traversal,
    traverse,
)
from graphrag_dagster.systems.coterag.search.term_coverage import QuestionTerms, coverages, shares
from graphrag_dagster.systems.coterag.search.vector_matching import UNLIKE, by_rank, match_communities

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from graphrag_dagster.kernel.common.stable_values import Scores
    from graphrag_dagster.systems.coterag.coterag_options import Order
    from graphrag_dagster.systems.coterag.index.triple_communities import Places
    from graphrag_dagster.systems.coterag.search.coterag_snapshot import CoteragSnapshot
    from graphrag_dagster.systems.coterag.settings import CoteragFallback, CoteragSettings


@dataclass(frozen=True)
class QuestionSimilarities:
    """A question's vector beside those of an index: similarities of all its rows."""

    index: CoteragSnapshot
    communities: Scores
    entities: Scores
    chunks: Scores

    @classmethod
    def of(cls, index: CoteragSnapshot, vector: NDArray[np.floating]) -> QuestionSimilarities:
        """Compare a question's vector with all vectors of an index."""
        return cls(
            index,
            index.summary_vectors.similarities(vector),
            index.descriptions.similarities(vector),
            index.chunk_vectors.similarities(vector),
        )

    def of_chunk(self, unit_id: str) -> float:
        """Return the similarity of a text unit; -1 for one without a vector."""
        place = self.index.chunk_vectors.places.get(unit_id)
        return UNLIKE if place is None else float(self.chunks[place])

    def of_nearest_members(self) -> Scores:
        """Return the similarity of the nearest member of each community; -1 for one without any."""
        found = np.full(len(self.communities), UNLIKE)
        places = self.index.community_places
        np.maximum.at(found, places[places >= 0], self.entities[places >= 0])
        return found

    def nearest(self, among: Places, most: int) -> list[EntityMatch]:
        """Return the entities of the highest similarity, by similarity, then id."""
        vectors = self.index.descriptions
        best = np.lexsort((vectors.order[among], -self.entities[among]))[:most]
        return [EntityMatch(vectors.ids[place], float(self.entities[place])) for place in among[best]]


def retrieve_evidence(
    asked: QuestionSimilarities, terms: QuestionTerms, options: CoteragSettings
) -> RetrievedEvidence:
    """Return what the main graph holds: communities, entities, paths, text units."""
    index, thresholds = asked.index, asked.index.thresholds
    ids = index.summary_vectors.ids
    communities = (
        []
        if options.everywhere
        else match_communities(
            ids,
            asked.communities,
            coverages(terms, index.holders, ids, options.term_weights),
            thresholds,
            rule=options.coverage,
            most=options.communities,
            scores=_scores(asked, terms, options.ranked_by),
            by_terms=options.ranked_by == "terms",
        )
    )
    selected = [one.community_id for one in communities if one.selected]
    everywhere = np.arange(len(index.descriptions.ids))
    inside = everywhere if options.everywhere else index.members(selected)
    near = asked.nearest(inside, options.entities)
    starts = [one for one in near if one.similarity > thresholds.entity]
    paths = _paths(asked, selected, starts, options)
    ends = [end for one in paths.triples for end in (one.head, one.tail)]
    around = list(dict.fromkeys([*(one.entity_id for one in starts), *ends]))
    candidates = index.chunks_of(around)
    by = terms if options.ranked_by == "terms" else None
    chunks = chunks_above(asked, candidates, thresholds.chunk, options.chunks, around=around, by=by)
    below = sum(asked.of_chunk(one) <= thresholds.chunk for one in candidates)
    return RetrievedEvidence(
        terms=tuple(" ".join(sorted(unit)) for unit in terms.units),
        communities=tuple(communities),
        nearest=float(asked.communities.max()) if len(ids) else None,
        entities=tuple(starts),
        triples=paths.triples,
        triples_cut=paths.cut,
        chunks=tuple(chunks),
        chunks_below=below,
    )


def search_store(
    asked: QuestionSimilarities,
    most_entities: int,
    fallback: CoteragFallback,
    known: Collection[str],
    by: QuestionTerms | None = None,
) -> tuple[list[EntityMatch], list[ChunkMatch]]:
    """Return the nearest entities of the preserved store, and what their text units, and those of none, add.

    Args:
        asked: the question.
        most_entities: how many entities are looked at; they need not exceed any threshold.
        fallback: how many text units are added, and whether those of no entity are looked at.
        known: texts of the context, see :func:`same_text`.
        by: see :func:`chunks_above`.
    """
    entities = asked.nearest(asked.index.preserved_places, most_entities)
    ids = [one.entity_id for one in entities]
    apart = asked.index.units_without_entities if fallback.units_without_entities else []
    candidates = sorted({*asked.index.chunks_of(ids), *apart})
    threshold = asked.index.thresholds.fallback
    return entities, chunks_above(
        asked, candidates, threshold, fallback.chunks, around=ids, known=known, by=by
    )


def chunks_above(
    asked: QuestionSimilarities,
    candidates: Sequence[str],
    threshold: float,
    most: int,
    *,
    around: Sequence[str] = (),
    known: Collection[str] = (),
    by: QuestionTerms | None = None,
) -> list[ChunkMatch]:
    """Return the best text units above a threshold, of equal texts the first, by score, then id.

    The score is the similarity, and where terms are given the share of them that a text unit holds too.
    """
    near = [one for one in candidates if asked.of_chunk(one) > threshold]
    scores = np.array([asked.of_chunk(one) for one in near], dtype=np.float64)
    if by is not None:
        scores += shares([by.terms_covered(asked.index.stems(one)) for one in near], "idf")
    texts = set(known)
    found: list[str] = []
    for place in by_rank(near, scores):
        if len(found) == most:
            break
        text = same_text(asked.index.texts[near[place]][1])
        if text not in texts:
            texts.add(text)
            found.append(near[place])
    owners = _owners(asked.index, found, around)
    return [ChunkMatch(unit, asked.of_chunk(unit), owners.get(unit)) for unit in found]


def same_text(text: str) -> str:
    """Return what two texts have in common that differ in white space alone."""
    return " ".join(text.split())


def _paths(
    asked: QuestionSimilarities,
    selected: Sequence[str],
    starts: Sequence[EntityMatch],
    options: CoteragSettings,
) -> Traversal:
    index, threshold = asked.index, asked.index.thresholds.traversal
    places, ids = index.descriptions.places, index.descriptions.ids
    near = asked.entities > threshold
    near[[places[one.entity_id] for one in starts]] = True
    head, tail, community = index.triple_places
    # No path leads to any other entity, and there are many.
    kept = near[head] & near[tail] & (head >= 0) & (tail >= 0)
    if not options.everywhere:
        chosen = [place for place, one in enumerate(index.summary_vectors.ids) if one in selected]
        kept &= np.isin(community, chosen)
    rows = index.triples[np.flatnonzero(kept)] if starts else index.triples.clear()
    return traverse(
        [one.entity_id for one in starts],
        [Edge(*row) for row in rows.select("head_id", "relation", "tail_id", "community_id").iter_rows()],
        {ids[place]: float(asked.entities[place]) for place in np.flatnonzero(near).tolist()},
        threshold,
        hops=options.hops,
        most=options.triples,
        relations=options.relations,
    )


def _scores(asked: QuestionSimilarities, terms: QuestionTerms, order: Order) -> Scores:
    """By what communities of one class are ranked."""
    if order == "similarity":
        return asked.communities
    index = asked.index
    held = coverages(terms, index.holders, index.summary_vectors.ids, "idf")
    scores: Scores = asked.communities + held + asked.of_nearest_members()
    return scores


def _owners(index: CoteragSnapshot, units: Sequence[str], around: Sequence[str]) -> dict[str, str]:
    """The first of the entities that each text unit is of."""
    found: dict[str, str] = {}
    for entity in around if units else ():
        for unit in index.units_of(entity):
            found.setdefault(unit, entity)
    return found
