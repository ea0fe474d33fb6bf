"""A community with its report, its members, and the words that the report rests on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from graphrag_dagster.apps.explorer.community_map import Cell, community_cells, place_cells, tokens_sql
from graphrag_dagster.apps.explorer.open_snapshots import OpenSnapshot
from graphrag_dagster.apps.explorer.text_search import Place, TextUnitSpan, places
from graphrag_dagster.kernel.lineage.instance_lineage import Instances
from graphrag_dagster.kernel.lineage.lineage_steps import LineageStep
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.kernel.tasks.report_citations import marked_parts
from graphrag_dagster.kernel.text.evidence import Words

CitedKind = Literal["entity", "relationship", "claim", "report", "text_unit"]

_TITLES: Mapping[str, tuple[Table, str, str]] = {
    "entity": (tables.ENTITIES, "entity_id", "title"),
    "relationship": (tables.RELATIONSHIPS, "relationship_id", "source || ' – ' || target"),
    "claim": (tables.MERGED_CLAIMS, "claim_id", "description"),
    "report": (tables.COMMUNITY_REPORTS, "report_id", "title"),
}


@dataclass(frozen=True, slots=True)
class CommunityCitation:
    """Something that a report cites.

    Attributes:
        number: 1…, by which segments of the report's statements refer to it.
        kind: what is cited.
        record_id: its id; null where the citation was invalid.
        title: what it is called; of words, the title of their document; of the invalid, as it was written.
        valid: it was in the context that the report was written from.
        place: the words quoted, or the first of those that what is cited rests on; null where none are known.
    """

    number: int
    kind: CitedKind
    record_id: str | None
    title: str
    valid: bool
    place: Place | None


@dataclass(frozen=True, slots=True)
class CitedRow:
    """A citation of one statement: its number in the report, and how the statement's text shows it.

    ``small_number`` is that of the record in marks, ``words`` those that are quoted.
    """

    number: int
    kind: CitedKind
    small_number: int | None
    words: str


class Cites:
    """What a report cites, each thing once.

    Args:
        shown: the snapshot.
        report_id: of the report.
    """

    def __init__(self, shown: OpenSnapshot, report_id: str) -> None:
        references = shown.rows(
            f"""
            select finding, kind, record_id, cited_as, valid, start_char, end_char
            from {shown[tables.REPORT_REFERENCES]} where report_id = $report order by finding, "position"
            """,
            report=report_id,
        )
        self._numbers: dict[tuple[object, ...], int] = {}
        self._by_finding: dict[int, list[tuple[int, dict[str, Any]]]] = {}
        for row in references:
            number = self._numbers.setdefault(_identity(row), len(self._numbers) + 1)
            self._by_finding.setdefault(row["finding"], []).append((number, row))
        distinct = {number: row for found in self._by_finding.values() for number, row in reversed(found)}
        self._records = _records(shown, list(distinct.values()))
        found = _places(shown, distinct)
        self.citations = [
            self._citation(number, row, found.get(number)) for number, row in sorted(distinct.items())
        ]

    def of(self, finding: int) -> Sequence[CitedRow]:
        """Return what the finding at a position cites; -1 for the summary."""
        made = {}
        for number, row in self._by_finding.get(finding, []):
            citation = self.citations[number - 1]
            small_number, _ = self._records.get((row["kind"], row["record_id"]), (None, ""))
            quoted = row["kind"] == "text_unit" and citation.place is not None
            words = citation.place.words if quoted and citation.place else ""
            made[number] = CitedRow(number, row["kind"], small_number, words)
        return list(made.values())

    def _citation(self, number: int, row: Mapping[str, Any], place: Place | None) -> CommunityCitation:
        _, title = self._records.get((row["kind"], row["record_id"]), (None, row["cited_as"]))
        if row["kind"] == "text_unit" and place is not None:
            title = place.document_title
        return CommunityCitation(number, row["kind"], row["record_id"], title, row["valid"], place)


def _identity(row: Mapping[str, Any]) -> tuple[object, ...]:
    named = row["record_id"] if row["valid"] else row["cited_as"]
    return row["kind"], row["valid"], named, row["start_char"], row["end_char"]


def _records(
    shown: OpenSnapshot, references: Sequence[Mapping[str, Any]]
) -> dict[tuple[str, str], tuple[int, str]]:
    """The small number and the title of every record by kind and id."""
    found: dict[tuple[str, str], tuple[int, str]] = {}
    for kind, (table, key, title) in _TITLES.items():
        ids = sorted({row["record_id"] for row in references if row["kind"] == kind and row["record_id"]})
        if not ids:
            continue
        with shown.temporary_frames(wanted=pl.DataFrame({"id": ids})):
            rows = shown.rows(
                f"""
                select {key} as id, human_readable_id as number, {title} as title from {shown[table]}
                where {key} in (select id from wanted)
                """
            )
        found |= {(kind, row["id"]): (row["number"], row["title"]) for row in rows}
    return found


def _places(shown: OpenSnapshot, references: Mapping[int, Mapping[str, Any]]) -> dict[int, Place]:
    valid = {number: row for number, row in references.items() if row["valid"]}
    quoted = {number: row for number, row in valid.items() if row["kind"] == "text_unit"}
    spans = [TextUnitSpan(row["record_id"], row["start_char"], row["end_char"]) for row in quoted.values()]
    found = dict(zip(quoted, places(shown, spans), strict=True))
    instances = Instances(shown.lineage, 1)
    for kind in ("entity", "relationship", "claim"):
        of_kind = {number: row["record_id"] for number, row in valid.items() if row["kind"] == kind}
        steps = instances.of(kind, sorted(set(of_kind.values()))) if of_kind else {}
        found |= {number: _first_words(steps.get(record)) for number, record in of_kind.items()}
    return {number: place for number, place in found.items() if place is not None}


def _first_words(step: LineageStep | None) -> Place | None:
    evidence = step.all_evidence() if step else iter(())
    return next((Place.of(one) for one in evidence if isinstance(one, Words)), None)


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
    return [
        ReportStatement(row["position"], row["heading"], _segments(row["text"], cites.of(row["position"])))
        for row in found
    ]


def _segments(text: str, cited: Sequence[CitedRow]) -> list[Segment]:
    """Cut a text at its marks and behind words that it quotes; what stands nowhere is cited by its end."""
    marks: dict[tuple[str | None, int | None], int] = {
        (one.kind, one.small_number): one.number for one in cited if one.small_number is not None
    }
    quotes = [(one.number, one.words) for one in cited if one.words]
    made: list[Segment] = []
    for part, inside in marked_parts(text):
        pieces = [Segment(said, numbers) for said, numbers in _quoted_passages(part, quotes)]
        found = [marks[one.kind, one.number] for one in inside if (one.kind, one.number) in marks]
        if found:
            last = pieces.pop() if pieces else made.pop() if made else Segment("", [])
            pieces.append(Segment(last.text, _join_numbers(last.citations, found)))
        made += pieces
    placed = {number for segment in made for number in segment.citations}
    if nowhere := [one.number for one in cited if one.number not in placed]:
        last = made.pop() if made else Segment("", [])
        made.append(Segment(last.text, _join_numbers(last.citations, nowhere)))
    return made


def _quoted_passages(text: str, quotes: Sequence[tuple[int, str]]) -> Iterator[tuple[str, list[int]]]:
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


def _join_numbers(one: Sequence[int], other: Sequence[int]) -> list[int]:
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
        level: 0 for the coarsest of the clustering, below 0 for levels above C0.
        title: of its report.
        summary: the first 300 characters of its report's summary, without marks of citations.
        size: member entities.
        value: the same.
        rating: importance by the report, 0–10; null without a report.
        parent_id: the community that it was split from; null at the top.
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
    citations: list[CommunityCitation]


def community_page(shown: OpenSnapshot, community_id: str) -> CommunityPage:
    """Return a community by id.

    Raises:
        MissingError: there is no such community.
    """
    path, own = place_cells(shown, community_id)
    report = shown.row(
        f"""
        select rating_explanation, engine, problem from {shown[tables.COMMUNITY_REPORTS]}
        where report_id = $community
        """,
        community=community_id,
    ) or {"rating_explanation": "", "engine": None, "problem": None}
    tokens = shown.row(tokens_sql(shown, "$community"), community=community_id)
    below = community_cells(shown, community_id, None, "members")
    found = community_members(shown, community_id, 0, _MEMBERS)
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
    """Return members of a community, those of the highest degree first.

    Raises:
        MissingError: there is no such community.
    """
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
    if not total["n"]:
        place_cells(shown, community_id)
    return Members(total["n"], offset, [Member(**row) for row in found])
