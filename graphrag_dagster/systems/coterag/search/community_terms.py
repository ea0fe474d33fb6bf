"""What communities speak of, as terms, and how many of a question's terms each covers."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import polars as pl

from graphrag_dagster.kernel.common.stable_scores import Scores
from graphrag_dagster.systems.coterag.index.communities import Communities
from graphrag_dagster.systems.coterag.index.triples import TripleGraph
from graphrag_dagster.systems.coterag.options import TermWeights
from graphrag_dagster.systems.coterag.terms import QuestionTerms, shares, terms


def community_terms(graph: TripleGraph, communities: Communities, summaries: pl.DataFrame) -> pl.DataFrame:
    """Return ``community_id``, ``term``: stems of its summary, its members' names and its relations.

    Args:
        graph: the triples.
        communities: of the graph.
        summaries: ``community_id``, ``title`` and ``text``.
    """
    names = communities.members.join(graph.entities.select("entity_id", "title"), on="entity_id")
    relations = pl.DataFrame({"number": communities.inside(graph), "text": graph.triples["relation"]}).join(
        communities.communities.select("number", "community_id"), on="number"
    )
    said = pl.concat(
        [
            names.select("community_id", text="title"),
            relations.select("community_id", "text"),
            summaries.select("community_id", text="title"),
            summaries.select("community_id", "text"),
        ]
    ).unique()
    known = said["text"].unique()
    stems = pl.DataFrame(
        {"text": known, "term": [sorted(terms(text)) for text in known]},
        schema={"text": pl.String, "term": pl.List(pl.String)},
    )
    return (
        said.join(stems, on="text")
        .select("community_id", "term")
        .explode("term")
        .drop_nulls()
        .unique()
        .sort("community_id", "term")
    )


def coverages(
    asked: QuestionTerms,
    holders: Mapping[str, Iterable[str]],
    ids: Sequence[str],
    weights: TermWeights = "none",
) -> Scores:
    """Return the share of a question's terms that each community covers.

    Args:
        asked: terms of the question.
        holders: communities by term, of :func:`community_terms`.
        ids: of the communities, in the order of the result.
        weights: see :func:`.terms.shares`.
    """
    found: dict[str, set[str]] = {}
    for term in asked.stems:
        for community in holders.get(term, ()):
            found.setdefault(community, set()).add(term)
    covered = [asked.covered_by(found.get(one, set())) for one in ids]
    return np.array(shares(covered, weights), dtype=np.float64)
