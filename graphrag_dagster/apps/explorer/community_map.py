"""Communities as cells of a map: the children of one, or all of a level."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from graphrag_dagster.apps.explorer.open_snapshots import OpenSnapshot
from graphrag_dagster.errors import MissingError, QuestionError
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.tables import LAYOUT
from graphrag_dagster.kernel.tasks.report_citations import without_citations

Measure = Literal["members", "tokens"]
#: Characters of a summary that a cell shows.
_SUMMARY = 300
#: No hierarchy is deeper; one that came with a graph might go in circles.
_DEEPEST = 100
#: More than any small number of a text unit.
_PAIRED = 2**31


@dataclass(frozen=True, slots=True)
class Cell:
    """A community.

    Attributes:
        community_id: its id, which is that of its report.
        number: small number by which texts cite its report.
        level: 0 for the coarsest of the clustering, below 0 for levels above C0.
        title: of its report.
        summary: the first 300 characters of its report's summary, without marks of citations.
        size: member entities.
        value: what is measured: members, or tokens of the distinct text units that mention any of them.
        rating: importance by the report, 0–10; null without a report.
        children: communities that it was split into.
        parent_id: the community that it was split from; null at the top.
    """

    community_id: str
    number: int
    level: int
    title: str
    summary: str
    size: int
    value: int
    rating: float | None
    children: int
    parent_id: str | None


def cell_of(row: dict[str, Any]) -> Cell:
    """Return a row of :func:`cells_sql` as a cell."""
    summary = without_citations(row.pop("summary"))
    return Cell(**row, summary=summary if len(summary) <= _SUMMARY else summary[: _SUMMARY - 1] + "…")


def cells_sql(shown: OpenSnapshot, chosen: str, measure: Measure = "members") -> str:
    """Return a query of cells, those of the largest value first."""
    value, joined = "c.size", ""
    if measure == "tokens":
        value = "coalesce(t.tokens, 0)"
        joined = (
            f"left join ({tokens_sql(shown, 'select community_id from chosen')}) as t using (community_id)"
        )
    return f"""
        with chosen as materialized ({chosen})
        select c.community_id, c.human_readable_id as number, c.level,
            coalesce(r.title, 'Community ' || c.human_readable_id) as title,
            coalesce(r.summary, '') as summary, c.size, {value}::bigint as value, r.rating,
            coalesce(k.children, 0) as children, c.parent_id
        from chosen join {shown[tables.COMMUNITIES]} as c using (community_id)
        left join {shown[tables.COMMUNITY_REPORTS]} as r on r.report_id = c.community_id
        left join (
            select parent_id, count(*) as children from {shown[tables.COMMUNITIES]} group by parent_id
        ) as k on k.parent_id = c.community_id
        {joined}
        order by value desc, c.size desc, c.community_id
    """


def tokens_sql(shown: OpenSnapshot, chosen: str) -> str:
    """Return a query of ``community_id`` and ``tokens``: of the text units that mention its members."""
    # One number for a pair is told apart faster than two ids.
    return f"""
        select c.community_id, t.tokens
        from (
            select pair // {_PAIRED} as number, sum(tokens) as tokens
            from (
                select n.number::bigint * {_PAIRED} + u.human_readable_id as pair,
                    any_value(u.tokens) as tokens
                from (
                    select o.human_readable_id as number, unnest(e.text_unit_ids) as text_unit_id
                    from {shown[tables.COMMUNITY_MEMBERS]} as m
                    join {shown[tables.COMMUNITIES]} as o using (community_id)
                    join {shown[tables.ENTITIES]} as e using (entity_id)
                    where m.community_id in ({chosen})
                ) as n
                join {shown[tables.TEXT_CHUNKS]} as u using (text_unit_id)
                group by pair
            )
            group by number
        ) as t
        join {shown[tables.COMMUNITIES]} as c on c.human_readable_id = t.number
    """


def cells(shown: OpenSnapshot, ids: Iterable[str], measure: Measure = "members") -> list[Cell]:
    """Return communities by id, those of the largest value first; unknown ids have none."""
    with shown.temporary_frames(
        wanted=pl.DataFrame({"community_id": list(ids)}, schema={"community_id": pl.String})
    ):
        found = shown.rows(cells_sql(shown, "select community_id from wanted", measure))
    return [cell_of(row) for row in found]


def ancestors(shown: OpenSnapshot, community_id: str) -> Sequence[str]:
    """Return the ids of the communities that hold one, root first, itself last; none of an unknown one."""
    found = shown.rows(
        f"""
        with recursive up as (
            select community_id, parent_id, 0 as steps from {shown[tables.COMMUNITIES]}
            where community_id = $community
            union all
            select c.community_id, c.parent_id, steps + 1
            from up join {shown[tables.COMMUNITIES]} as c on c.community_id = up.parent_id
            where steps < {_DEEPEST}
        )
        select community_id from up order by steps desc
        """,
        community=community_id,
    )
    return [row["community_id"] for row in found]


def place_cells(
    shown: OpenSnapshot, community_id: str, measure: Measure = "members"
) -> tuple[list[Cell], Cell]:
    """Return the communities that hold one, the root first, and itself.

    Raises:
        MissingError: there is no such community.
    """
    ids = ancestors(shown, community_id)
    if not ids:
        raise MissingError("community", f"there is no community {community_id!r} in this corpus")
    by_id = {cell.community_id: cell for cell in cells(shown, ids, measure)}
    *above, own = (by_id[one] for one in ids)
    return above, own


def inside_sql(shown: OpenSnapshot) -> str:
    """Return a query of ``community_id``: that of ``$within`` and of all that it was split into."""
    return f"""
        with recursive down as (
            select community_id, 0 as steps from {shown[tables.COMMUNITIES]} where community_id = $within
            union all
            select c.community_id, steps + 1
            from down join {shown[tables.COMMUNITIES]} as c on c.parent_id = down.community_id
            where steps < {_DEEPEST}
        )
        select community_id from down
    """


_GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))


def positions(shown: OpenSnapshot, entities: pl.DataFrame) -> pl.DataFrame:
    """Return entities with ``x`` and ``y``: as the snapshot has them, else arranged by community.

    Args:
        shown: the snapshot.
        entities: ``entity_id``, ``degree`` and ``community_id`` of all that are drawn.
    """
    arranged = _arrange_communities(entities)
    if not shown.has(LAYOUT):
        return arranged
    kept = shown.frame(f"select entity_id, x as kept_x, y as kept_y from {shown[LAYOUT]}")
    return (
        arranged.join(kept, on="entity_id", how="left", maintain_order="left")
        .with_columns(x=pl.coalesce("kept_x", "x"), y=pl.coalesce("kept_y", "y"))
        .drop("kept_x", "kept_y")
    )


def _arrange_communities(entities: pl.DataFrame) -> pl.DataFrame:
    """Put communities around the middle, the largest inside, and members around the middle of theirs.

    Both as seeds in a flower's head (H. Vogel, A better way to construct the sunflower head, 1979): each
    further one the golden angle on, at a distance that gives all the same room.
    """
    ordered = entities.sort("degree", "entity_id", descending=[True, False]).with_columns(
        rank=pl.int_range(pl.len()).over("community_id")
    )
    sizes = (
        ordered.group_by("community_id")
        .agg(size=pl.len())
        .sort("size", "community_id", descending=[True, False], nulls_last=True)
        .with_columns(before=pl.col("size").cum_sum() - pl.col("size") / 2, place=pl.int_range(pl.len()))
    )
    placed = ordered.join(sizes, on="community_id", nulls_equal=True, maintain_order="left")
    around = _seeds(placed["place"].to_numpy(), np.sqrt(2 * placed["before"].to_numpy()))
    inside = _seeds(placed["rank"].to_numpy(), 0.8 * np.sqrt(placed["rank"].to_numpy()))
    # A single community needs no place among others.
    alone = 0.0 if sizes.height <= 1 else 1.0
    x, y = (alone * one + other for one, other in zip(around, inside, strict=True))
    made = placed.with_columns(x=pl.Series(x, dtype=pl.Float64), y=pl.Series(y, dtype=pl.Float64))
    return entities.join(made.select("entity_id", "x", "y"), on="entity_id", maintain_order="left")


def _seeds(number: np.ndarray, distance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    angle = number * _GOLDEN_ANGLE
    return distance * np.cos(angle), distance * np.sin(angle)


_MOST = 400


@dataclass(frozen=True, slots=True)
class Rest:
    """Communities that are too many to be listed.

    Attributes:
        communities: how many.
        size: their members, summed.
        value: what is measured of them, summed.
    """

    communities: int
    size: int
    value: int


@dataclass(frozen=True, slots=True)
class CommunityCells:
    """Communities of the whole corpus or inside one.

    Attributes:
        within: the community they lie in; null for the whole corpus.
        path: the communities that hold ``within``, the root first.
        level: k of Ck where all communities of a level were asked for; null for children.
        cells: at most 400, those of the largest value first.
        rest: the others; null where there are none.
        measure: what ``value`` of a cell is.
    """

    within: Cell | None
    path: list[Cell]
    level: int | None
    cells: list[Cell]
    rest: Rest | None
    measure: Measure


def levels_of(shown: OpenSnapshot) -> Sequence[int]:
    """Return the levels C0, C1, … that a corpus has, in order."""
    found = shown.rows(f"select distinct level from {shown[tables.COMMUNITY_LEVELS]} order by level")
    return [row["level"] for row in found]


def check_level(shown: OpenSnapshot, level: int) -> None:
    """Refuse a level that a corpus does not have.

    Raises:
        QuestionError: names those there are.
    """
    known = levels_of(shown)
    if level not in known:
        there = f"there are {', '.join(f'C{one}' for one in known)}" if known else "it has no communities"
        raise QuestionError(f"this corpus has no level C{level}; {there}")


def community_cells(
    shown: OpenSnapshot, within: str | None, level: int | None, measure: Measure
) -> CommunityCells:
    """Return the children of a community, or what of a level lies in it; without one, of the whole corpus.

    Raises:
        MissingError: there is no such community.
        QuestionError: there is no such level.
    """
    path, own = place_cells(shown, within, measure) if within is not None else ([], None)
    parameters: dict[str, object] = {} if within is None else {"within": within}
    if level is None:
        of = "parent_id is null" if within is None else "parent_id = $within"
        chosen = f"select community_id from {shown[tables.COMMUNITIES]} where {of}"
    else:
        check_level(shown, level)
        parameters["level"] = level
        inside = "" if within is None else f"and community_id in ({inside_sql(shown)})"
        chosen = f"""
            select distinct community_id from {shown[tables.COMMUNITY_LEVELS]} where level = $level {inside}
        """
    found = shown.rows(cells_sql(shown, chosen, measure), **parameters)
    others = found[_MOST:]
    return CommunityCells(
        within=own,
        path=path,
        level=level,
        cells=[cell_of(row) for row in found[:_MOST]],
        rest=Rest(len(others), _sum(others, "size"), _sum(others, "value")) if others else None,
        measure=measure,
    )


def _sum(rows: list[dict[str, int]], name: str) -> int:
    return sum(row[name] for row in rows)
