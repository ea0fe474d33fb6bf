"""Earlier reports that can be reused: their drafts, and the contexts they were written from."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

import polars as pl
from pydantic import TypeAdapter

from graphrag_dagster.kernel.tasks.ports import Finding, RecordKind, WrittenReport
from graphrag_dagster.kernel.tasks.prominence import rating_of
from graphrag_dagster.systems.graphrag.reports.context import PackedContext

_KINDS: tuple[RecordKind, ...] = ("report", "entity", "claim", "relationship")


@dataclass(frozen=True, slots=True)
class EarlierReport:
    """A report whose citations are the numbers of its context; of the context there is what they mean.

    ``text`` is how it is kept; ``content`` what was stored of it, and ``tokens`` those of that.
    """

    report: WrittenReport
    context: PackedContext
    text: str
    content: str
    tokens: int

    def under(self, prominence: float) -> WrittenReport:
        """Return the report of a community of some prominence, which a rating that is computed rests on."""
        if self.report.engine != "extractive":
            return self.report
        return replace(self.report, rating=rating_of(prominence))


def written_as_text(report: WrittenReport) -> str:
    """Return a report as it is kept; :func:`earlier_reports` reads it."""
    return _shape().dump_json(report).decode()


def earlier_reports(
    written: pl.DataFrame, reports: pl.DataFrame, contexts: pl.DataFrame, context_rows: pl.DataFrame
) -> dict[str, EarlierReport]:
    """Return reports by the fingerprints of what they were written from.

    Args:
        written: rows of ``reports.written_reports``.
        reports: rows of ``reports.community_reports``.
        contexts: rows of ``reports.report_contexts``.
        context_rows: rows of ``reports.report_context_rows``.
    """
    shown: dict[str, dict[RecordKind, tuple[str, ...]]] = {}
    grouped = context_rows.sort("report_id", "position").group_by("report_id", "kind", maintain_order=True)
    for report_id, kind, ids in grouped.agg("record_id").iter_rows():
        shown.setdefault(report_id, {})[kind] = tuple(ids)
    found = {}
    rows = (
        written.join(contexts, on="report_id")
        .join(reports.select("report_id", "content", of_content="tokens"), on="report_id")
        .select(
            *("report_id", "fingerprint", "context", "tokens", "complete"),
            *("written", "content", "of_content"),
        )
    )
    for report_id, fingerprint, context, tokens, complete, text, *stored in rows.iter_rows():
        ids = shown.get(report_id, {})
        ids |= {kind: () for kind in _KINDS if kind not in ids}
        packed = PackedContext(context, tokens, complete, (), (), (), ids)
        found[fingerprint] = EarlierReport(_shape().validate_json(text), packed, text, *stored)
    return found


@cache
def _shape() -> TypeAdapter[WrittenReport]:
    return TypeAdapter(WrittenReport)


#: Stands where other reports have the engine that wrote them.
IMPORTED = "imported"


@dataclass(frozen=True, slots=True)
class KeptReport:
    """A report as it came.

    ``findings``: headline and explanation of each; ``cited``: for each kind of record, the ids here by the
    numbers that its text cites them with.
    """

    title: str
    summary: str
    content: str
    rating: float
    rating_explanation: str
    findings: tuple[tuple[str, str], ...]
    cited: Mapping[RecordKind, Mapping[int, str]]

    def written(self) -> WrittenReport:
        """Return it as reports of communities above it are written from it."""
        return WrittenReport(
            title=self.title,
            summary=self.summary,
            rating=self.rating,
            rating_explanation=self.rating_explanation,
            findings=tuple(Finding(summary, explanation) for summary, explanation in self.findings),
            engine=IMPORTED,
        )
