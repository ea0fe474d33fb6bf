"""Communities of the map: the children of one, or all of a level."""

from collections.abc import Sequence
from dataclasses import dataclass

from graphrag_dagster.apps.explorer.map.cells import Cell, Measure, cell_of, cells_sql, inside_sql, placed
from graphrag_dagster.apps.explorer.snapshots.opened import OpenSnapshot
from graphrag_dagster.errors import QuestionError
from graphrag_dagster.kernel import tables

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
    path, own = placed(shown, within, measure) if within is not None else ([], None)
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
