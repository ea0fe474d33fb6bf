"""A community with its report and its members."""

from dataclasses import dataclass

from graphrag_dagster import tables
from graphrag_dagster.operations.exploring.cells import Cell, placed, tokens_sql
from graphrag_dagster.operations.exploring.cited import Citation, Cites
from graphrag_dagster.operations.exploring.communities import community_cells
from graphrag_dagster.operations.exploring.opened import OpenSnapshot
from graphrag_dagster.operations.exploring.statements import ReportStatement, statements_of

_MEMBERS = 200


@dataclass(frozen=True, slots=True)
class Member:
    """An entity of a community; ``degree`` counts its neighbours in the whole graph."""

    entity_id: str
    title: str
    type: str
    degree: int


@dataclass(frozen=True, slots=True)
class Members:
    """Entities of a community, those of the highest degree first; ``total`` of all."""

    total: int
    offset: int
    members: list[Member]


@dataclass(frozen=True, slots=True)
class CommunityPage:
    """A community.

    Attributes:
        community_id: its id, which is that of its report.
        number: small number by which texts cite its report.
        level: 0 for the coarsest.
        title: of its report.
        summary: the first 300 characters of its report's summary, without marks of citations.
        size: member entities.
        value: the same.
        rating: importance by the report, 0–10; null without a report.
        parent_id: the community that it was split from; null at level 0.
        rating_explanation: what the rating rests on.
        engine: what wrote the report; null without a report.
        problem: why a model's report was replaced; null where none was.
        tokens: of the distinct text units that mention any member.
        path: the communities that hold it, the root first.
        children: at most 400 of those that it was split into, the largest first.
        children_total: how many there are.
        members: at most 200 entities, those of the highest degree first.
        members_total: how many there are.
        statements: the report: its summary, then its findings; empty without a report.
        citations: what they cite, by number.
    """

    community_id: str
    number: int
    level: int
    title: str
    summary: str
    size: int
    value: int
    rating: float | None
    parent_id: str | None
    rating_explanation: str
    engine: str | None
    problem: str | None
    tokens: int
    path: list[Cell]
    children: list[Cell]
    children_total: int
    members: list[Member]
    members_total: int
    statements: list[ReportStatement]
    citations: list[Citation]


def community_page(shown: OpenSnapshot, community_id: str) -> CommunityPage:
    """Return a community by id.

    Raises:
        MissingError: there is no such community.
    """
    path, own = placed(shown, community_id)
    report = shown.row(
        f"""
        select rating_explanation, engine, problem from {shown[tables.COMMUNITY_REPORTS]}
        where report_id = $community
        """,
        community=community_id,
    ) or {"rating_explanation": "", "engine": None, "problem": None}
    tokens = shown.row(tokens_sql(shown, "$community"), community=community_id)
    below = community_cells(shown, community_id, None, "members")
    found = members(shown, community_id, 0, _MEMBERS)
    cites = Cites(shown, community_id)
    kept = {key: getattr(own, key) for key in Cell.__slots__ if key != "children"}
    return CommunityPage(
        **kept,
        **report,
        tokens=int(tokens["tokens"]) if tokens else 0,
        path=path,
        children=below.cells,
        children_total=own.children,
        members=found.members,
        members_total=found.total,
        statements=statements_of(shown, community_id, cites),
        citations=cites.citations,
    )


def community_members(shown: OpenSnapshot, community_id: str, offset: int, limit: int) -> Members:
    """Return members of a community.

    Raises:
        MissingError: there is no such community.
    """
    placed(shown, community_id)
    return members(shown, community_id, offset, limit)


def members(shown: OpenSnapshot, community_id: str, offset: int, limit: int) -> Members:
    """Return members of a community, those of the highest degree first; none of an unknown one."""
    found = shown.rows(
        f"""
        select e.entity_id, e.title, e.type, e.degree
        from {shown[tables.COMMUNITY_MEMBERS]} as m join {shown[tables.ENTITIES]} as e using (entity_id)
        where m.community_id = $community
        order by e.degree desc, e.title, e.entity_id limit $limit offset $offset
        """,
        community=community_id,
        limit=limit,
        offset=offset,
    )
    total = shown.totals(
        f"select count(*) as n from {shown[tables.COMMUNITY_MEMBERS]} where community_id = $community",
        community=community_id,
    )
    return Members(total["n"], offset, [Member(**row) for row in found])
