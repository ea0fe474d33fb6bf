"""A community with its report and its members."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphrag_dagster.apps.explorer.cited import Citation, CitedRow, Cites
from graphrag_dagster.apps.explorer.map.cells import Cell, placed, tokens_sql
from graphrag_dagster.apps.explorer.map.communities import community_cells
from graphrag_dagster.apps.explorer.snapshots.opened import OpenSnapshot
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.questions.report_citations import marked_parts


@dataclass(frozen=True, slots=True)
class Segment:
    """A piece of text, and the numbers of the citations that stand behind it."""

    text: str
    citations: list[int]


@dataclass(frozen=True, slots=True)
class ReportStatement:
    """The summary or a finding of a report.

    Attributes:
        position: place among the findings, 0…; -1 for the summary.
        heading: of the finding; blank for the summary.
        segments: its text, cut where it cites, without the marks.
    """

    position: int
    heading: str
    segments: list[Segment]


def statements_of(shown: OpenSnapshot, report_id: str, cites: Cites) -> list[ReportStatement]:
    """Return the summary and the findings of a report; none where there is no report."""
    return [
        ReportStatement(position, heading, _segments(text, cites.of(position)))
        for position, heading, text in _written(shown, report_id)
    ]


def _written(shown: OpenSnapshot, report_id: str) -> list[tuple[int, str, str]]:
    found = shown.rows(
        f"""
        select -1 as "position", '' as heading, summary as text
        from {shown[tables.COMMUNITY_REPORTS]} where report_id = $report
        union all
        select "position", summary, explanation from {shown[tables.REPORT_FINDINGS]} where report_id = $report
        order by "position"
        """,
        report=report_id,
    )
    return [(row["position"], row["heading"], row["text"]) for row in found]


def _segments(text: str, cited: Sequence[CitedRow]) -> list[Segment]:
    """Cut a text at its marks and behind words that it quotes; what stands nowhere is cited by its end."""
    marks: dict[tuple[str | None, int | None], int] = {
        (one.kind, one.small_number): one.number for one in cited if one.small_number is not None
    }
    quotes = [(one.number, one.words) for one in cited if one.words]
    made: list[Segment] = []
    for part, inside in marked_parts(text):
        pieces = [Segment(said, numbers) for said, numbers in _quoting(part, quotes)]
        found = [marks[one.kind, one.number] for one in inside if (one.kind, one.number) in marks]
        if found:
            last = pieces.pop() if pieces else made.pop() if made else Segment("", [])
            pieces.append(Segment(last.text, _joined(last.citations, found)))
        made += pieces
    placed = {number for segment in made for number in segment.citations}
    if nowhere := [one.number for one in cited if one.number not in placed]:
        last = made.pop() if made else Segment("", [])
        made.append(Segment(last.text, _joined(last.citations, nowhere)))
    return made


def _quoting(text: str, quotes: Sequence[tuple[int, str]]) -> Iterator[tuple[str, list[int]]]:
    ends: dict[int, list[int]] = {}
    for number, words in quotes:
        for said in dict.fromkeys((words, " ".join(words.split()))):
            if (start := text.find(said)) >= 0:
                ends.setdefault(start + len(said), []).append(number)
                break
    place = 0
    for end in sorted(ends):
        yield text[place:end], sorted(ends[end])
        place = end
    if text[place:].strip():
        yield text[place:], []


def _joined(one: Sequence[int], other: Sequence[int]) -> list[int]:
    return sorted({*one, *other})


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
