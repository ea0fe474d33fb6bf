"""The graph as report contexts need it: rows in a stable order, and what belongs to which community."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphrag_dagster.core.reports.rows import row


@dataclass(frozen=True, slots=True)
class Community:
    """What is inside a community, as places in :class:`Elements`.

    ``edges`` have both ends inside and stand in the order in which they are packed: combined degree
    descending, then source and target. ``alone`` are the members without such an edge, by degree descending,
    then name.
    """

    members: NDArray[np.int64]
    edges: NDArray[np.int64]
    alone: NDArray[np.int64]
    children: tuple[str, ...]


@dataclass(slots=True)
class Rows:
    """One kind of rows, in the order in which a context shows them, with their tokens.

    ``texts`` are rows without their number; ``ids`` the records they show.
    """

    ids: list[str]
    texts: list[str]
    count: Callable[[str], int]
    _tokens: dict[int, int] = field(default_factory=dict)

    def tokens(self, place: int) -> int:
        """Return the tokens of the row under the number 1; counted once."""
        known = self._tokens.get(place)
        if known is None:
            known = self._tokens[place] = self.count(f"1{self.texts[place]}")
        return known

    def total(self, places: Sequence[int] | NDArray[np.int64]) -> int:
        """Return the sum of the tokens of rows."""
        return sum(map(self.tokens, map(int, places)))


@dataclass(frozen=True, slots=True)
class Elements:
    """Entities by name, relationships by source and target, claims by subject; and the communities.

    ``entity_values`` are title, type, description and degree; ``relationship_values`` description, weight and
    combined degree. ``ends[r]`` are the places of the two entities of relationship r, ``claims_of[e]`` those
    of the claims that entity e is subject or object of.
    """

    entities: Rows
    relationships: Rows
    claims: Rows
    entity_values: list[tuple[str, str, str, int]]
    relationship_values: list[tuple[str, float, int]]
    ends: NDArray[np.int64]
    claims_of: dict[int, list[int]]
    communities: dict[str, Community]


def index_elements(
    *,
    entities: pl.DataFrame,
    relationships: pl.DataFrame,
    claims: pl.DataFrame,
    communities: pl.DataFrame,
    members: pl.DataFrame,
    count: Callable[[str], int],
) -> Elements:
    """Index the graph once for all communities.

    Args:
        entities: rows of ``graph.entities``.
        relationships: rows of ``graph.relationships``.
        claims: rows of ``graph.claims``.
        communities: rows of ``graph.communities``.
        members: rows of ``graph.community_members``.
        count: tokens of a text.
    """
    entities = entities.sort("name")
    relationships = relationships.sort("source", "target")
    claims = claims.sort("subject", "object", "type", "description", "claim_id")
    titles: dict[str, str] = dict(entities.select("name", "title").iter_rows())
    place = {name: number for number, name in enumerate(entities["name"])}
    ends = np.array(
        [[place[source], place[target]] for source, target in _pairs(relationships)], dtype=np.int64
    ).reshape(-1, 2)
    return Elements(
        entities=Rows(
            entities["entity_id"].to_list(),
            [row(*values) for values in entities.select("title", "description").iter_rows()],
            count,
        ),
        relationships=Rows(
            relationships["relationship_id"].to_list(),
            [
                row(titles[source], titles[target], description, degree)
                for source, target, description, degree in relationships.select(
                    "source", "target", "description", "combined_degree"
                ).iter_rows()
            ],
            count,
        ),
        claims=Rows(claims["claim_id"].to_list(), _claim_texts(claims, titles), count),
        entity_values=entities.select("title", "type", "description", "degree").rows(),
        relationship_values=relationships.select("description", "weight", "combined_degree").rows(),
        ends=ends,
        claims_of=_claims_of(claims, place),
        communities=_communities(entities, relationships, communities, members, ends),
    )


def _pairs(relationships: pl.DataFrame) -> list[tuple[str, str]]:
    return relationships.select("source", "target").rows()


def _claim_texts(claims: pl.DataFrame, titles: dict[str, str]) -> list[str]:
    columns = ("type", "status", "start_date", "end_date", "description")
    return [
        row(titles.get(subject, subject), titles.get(other, other), *(value or "" for value in values))
        for subject, other, *values in claims.select(
            "subject", pl.col("object").fill_null(""), *columns
        ).iter_rows()
    ]


def _claims_of(claims: pl.DataFrame, place: dict[str, int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for number, names in enumerate(claims.select("subject", "object").iter_rows()):
        for name in dict.fromkeys(names):
            if name in place:
                found.setdefault(place[name], []).append(number)
    return found


def _communities(
    entities: pl.DataFrame,
    relationships: pl.DataFrame,
    communities: pl.DataFrame,
    members: pl.DataFrame,
    ends: NDArray[np.int64],
) -> dict[str, Community]:
    inside = members.join(
        entities.select("entity_id", "degree").with_row_index("entity"), on="entity_id"
    ).with_columns(pl.col("entity").cast(pl.Int64))
    edges = pl.DataFrame(
        {
            "edge": np.arange(len(ends)),
            "one": ends[:, 0],
            "other": ends[:, 1],
            "rank": -relationships["combined_degree"].to_numpy().astype(np.int64),
        }
    )
    places = inside.select("community_id", "entity")
    internal = (
        edges.join(places.rename({"entity": "one"}), on="one")
        .join(places.rename({"entity": "other"}), on=["community_id", "other"])
        .sort("community_id", "rank", "edge")
    )
    touched = pl.concat([internal.select("community_id", entity=end) for end in ("one", "other")]).unique()
    alone = inside.join(touched, on=["community_id", "entity"], how="anti")
    none = np.empty(0, dtype=np.int64)
    of_members = _grouped(inside.sort("community_id", "entity"), "entity")
    of_edges = _grouped(internal, "edge")
    of_alone = _grouped(alone.sort("community_id", -pl.col("degree"), "entity"), "entity")
    children: dict[str, list[str]] = {}
    for parent, child in communities.select("parent_id", "community_id").sort("community_id").iter_rows():
        children.setdefault(parent, []).append(child)
    return {
        name: Community(
            of_members.get(name, none),
            of_edges.get(name, none),
            of_alone.get(name, none),
            tuple(children.get(name, ())),
        )
        for name in communities["community_id"]
    }


def _grouped(rows: pl.DataFrame, column: str) -> dict[str, NDArray[np.int64]]:
    """Return the values of a column by ``community_id``; rows of one community stand together."""
    runs = rows.select(pl.col("community_id").rle()).unnest("community_id")
    values = rows[column].to_numpy()
    cuts = np.cumsum(runs["len"].to_numpy())[:-1]
    return dict(zip(runs["value"], np.split(values, cuts), strict=True)) if len(runs) else {}
