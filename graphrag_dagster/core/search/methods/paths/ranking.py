"""The text units that a question is about: by following it, by a walk over names and units, and by paths."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from graphrag_dagster.core.search.context.index import IndexSnapshot
from graphrag_dagster.core.search.finding import looked_for
from graphrag_dagster.core.search.methods.graph.facts import Key
from graphrag_dagster.core.search.methods.graph.tables import edges_of
from graphrag_dagster.core.search.question import Search
from graphrag_dagster.core.search.retrieval.ranking import Ranking, first_places
from graphrag_dagster.core.search.retrieval.retriever import LocalRanking

#: Of reciprocal rank fusion: the smaller, the more the first ones count.
_SMOOTHING = 5
#: How much each order counts: following the question, the walk, the paths. Chosen on halves for tuning
#: (``benchmarks/README.md``, paths).
FOLLOWED, WALKED, ON_PATHS = 1.0, 0.5, 0.1


@dataclass(frozen=True, slots=True)
class Orders:
    """What a question is about: by following it, and by a walk.

    Attributes:
        followed: text units and entities by following the question.
        walked: text units by personalised PageRank.
        note: that words alone were used; None where they were not.
    """

    followed: LocalRanking
    walked: Ranking
    note: str | None


def ordered(search: Search, sought: str, entities: int) -> Orders:
    """Return text units in both orders, and at most so many entities, that a text is about."""
    question = looked_for(search, sought)
    return Orders(question.local(entities), question.spread(), question.note)


def units_stating(index: IndexSnapshot, paths: Sequence[Sequence[Key]]) -> list[str]:
    """Return the text units in which edges of paths are stated: those of the best paths first.

    Among units of the same path that comes first in which more of its edges are stated, then as they stand in
    the corpus.

    Args:
        index: the tables of the corpus.
        paths: the edges of each, best first.
    """
    known = index.once(_units_of_edges)
    units: dict[str, None] = {}
    for edges in paths:
        stated: dict[str, int] = {}
        for edge in edges:
            for unit in known.get(edge, ()):
                stated[unit] = stated.get(unit, 0) + 1
        units |= dict.fromkeys(sorted(stated, key=lambda one: -stated[one]))
    return list(units)


def joined(orders: Orders, on_paths: Sequence[str]) -> list[str]:
    """Return text units in one order made of three, by reciprocal ranks.

    Args:
        orders: by following the question, and by a walk.
        on_paths: those that state the paths, best first; what the others leave out stays out.
    """
    ids = orders.followed.units.ids
    places = {unit: place for place, unit in enumerate(ids)}
    scores = FOLLOWED / (_SMOOTHING + np.arange(len(ids)))
    for units, share in ((orders.walked.ids, WALKED), (on_paths, ON_PATHS)):
        for rank, unit in enumerate(units):
            if unit in places:
                scores[places[unit]] += share / (_SMOOTHING + rank)
    return [ids[place] for place in first_places(scores).tolist()]


def _units_of_edges(index: IndexSnapshot) -> Mapping[Key, Sequence[str]]:
    """The text units that state an edge; where its own are not known, those of the relationship."""
    edges = edges_of(index).select("head_id", "relation", "tail_id", "text_unit_ids")
    ends = (pl.min_horizontal("head_id", "tail_id"), pl.max_horizontal("head_id", "tail_id"))
    pairs = index.relationships.select(
        pl.min_horizontal("source_id", "target_id").alias("one"),
        pl.max_horizontal("source_id", "target_id").alias("other"),
        pl.col("text_unit_ids").alias("of_pair"),
    ).unique(["one", "other"], keep="first", maintain_order=True)
    joint = edges.with_columns(one=ends[0], other=ends[1]).join(
        pairs, on=["one", "other"], how="left", maintain_order="left"
    )
    units = pl.when(pl.col("text_unit_ids").list.len() > 0).then("text_unit_ids").otherwise("of_pair")
    rows = joint.select("head_id", "relation", "tail_id", units.alias("units")).iter_rows()
    return {(head, relation, tail): stated or () for head, relation, tail, stated in rows}
