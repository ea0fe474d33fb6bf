"""What a report states, cut where it cites."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphrag_dagster import tables
from graphrag_dagster.core.reports.citations import marked_parts
from graphrag_dagster.operations.exploring.cited import CitedRow, Cites
from graphrag_dagster.operations.exploring.opened import OpenSnapshot


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
