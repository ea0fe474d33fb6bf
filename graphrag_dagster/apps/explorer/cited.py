"""What a report cites, with the words that it rests on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from graphrag_dagster.apps.explorer.documents.places import Place, Span, places
from graphrag_dagster.apps.explorer.snapshots.opened import OpenSnapshot
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.lineage.instances import Instances
from graphrag_dagster.kernel.lineage.steps import Step
from graphrag_dagster.kernel.tables import Table
from graphrag_dagster.kernel.text.evidence import Words

CitedKind = Literal["entity", "relationship", "claim", "report", "text_unit"]

_TITLES: Mapping[str, tuple[Table, str, str]] = {
    "entity": (tables.ENTITIES, "entity_id", "title"),
    "relationship": (tables.RELATIONSHIPS, "relationship_id", "source || ' – ' || target"),
    "claim": (tables.MERGED_CLAIMS, "claim_id", "description"),
    "report": (tables.COMMUNITY_REPORTS, "report_id", "title"),
}


@dataclass(frozen=True, slots=True)
class Citation:
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

    def _citation(self, number: int, row: Mapping[str, Any], place: Place | None) -> Citation:
        _, title = self._records.get((row["kind"], row["record_id"]), (None, row["cited_as"]))
        if row["kind"] == "text_unit" and place is not None:
            title = place.document_title
        return Citation(number, row["kind"], row["record_id"], title, row["valid"], place)


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
        with shown.given(wanted=pl.DataFrame({"id": ids})):
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
    spans = [Span(row["record_id"], row["start_char"], row["end_char"]) for row in quoted.values()]
    found = dict(zip(quoted, places(shown, spans), strict=True))
    instances = Instances(shown.lineage, 1)
    looked_up = {
        "entity": instances.entities,
        "relationship": instances.relationships,
        "claim": instances.claims,
    }
    for kind, look_up in looked_up.items():
        of_kind = {number: row["record_id"] for number, row in valid.items() if row["kind"] == kind}
        steps = look_up(sorted(set(of_kind.values()))) if of_kind else {}
        found |= {number: _first_words(steps.get(record)) for number, record in of_kind.items()}
    return {number: place for number, place in found.items() if place is not None}


def _first_words(step: Step | None) -> Place | None:
    evidence = step.all_evidence() if step else iter(())
    return next((Place.of(one) for one in evidence if isinstance(one, Words)), None)
