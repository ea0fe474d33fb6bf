"""Reports as rows of their tables."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from graphrag_dagster.core.language.tasks import RecordKind, WrittenReport
from graphrag_dagster.core.reports.citations import without_citations
from graphrag_dagster.core.reports.context import PackedContext
from graphrag_dagster.core.reports.earlier import written_as_text
from graphrag_dagster.core.reports.kept import IMPORTED, KeptReport
from graphrag_dagster.core.reports.references import (
    Reference,
    References,
    cited_elsewhere,
)
from graphrag_dagster.tables import (
    COMMUNITY_REPORTS,
    REPORT_CONTEXT_ROWS,
    REPORT_CONTEXTS,
    REPORT_FINDINGS,
    REPORT_REFERENCES,
    WRITTEN_REPORTS,
)


@dataclass(frozen=True, slots=True)
class ReportFrames:
    """The tables of the stage ``reports``, each in the order of its key."""

    reports: pl.DataFrame
    findings: pl.DataFrame
    references: pl.DataFrame
    contexts: pl.DataFrame
    context_rows: pl.DataFrame
    written: pl.DataFrame


@dataclass(slots=True)
class ReportRows:
    """Collects reports as rows; ``count`` gives the tokens of a text."""

    references: References
    count: Callable[[str], int]
    _reports: list[dict[str, object]] = field(default_factory=list)
    _findings: list[dict[str, object]] = field(default_factory=list)
    _cited: list[dict[str, object]] = field(default_factory=list)
    _contexts: list[dict[str, object]] = field(default_factory=list)
    _shown: list[tuple[str, RecordKind, list[str]]] = field(default_factory=list)
    _written: dict[str, WrittenReport] = field(default_factory=dict)

    def add(self, community: Mapping[str, object], context: PackedContext, written: WrittenReport) -> None:
        """Store the report of a community: its text with resolved citations, its findings, its context."""
        report_id = str(community["community_id"])
        stored = self._with_references(report_id, context, written)
        content = markdown(stored)
        self._reports.append(
            {
                "report_id": report_id,
                "human_readable_id": community["human_readable_id"],
                "level": community["level"],
                "title": stored.title,
                "summary": stored.summary,
                "rating": _rating(written.rating),
                "rating_explanation": stored.rating_explanation,
                "content": content,
                "tokens": self.count(content),
                "engine": written.engine,
                "problem": written.problem,
                "repaired": written.usage.repaired,
            }
        )
        self._findings += [
            {
                "report_id": report_id,
                "position": position,
                "summary": finding.summary,
                "explanation": finding.explanation,
            }
            for position, finding in enumerate(stored.findings)
        ]
        self._contexts.append(_context_row(report_id, context))
        self._written[report_id] = written
        self._shown += [(report_id, kind, list(ids)) for kind, ids in context.ids.items() if ids]

    def keep(self, community: Mapping[str, object], kept: KeptReport) -> None:
        """Store a report that was written elsewhere, as it came; what it cites is looked up."""
        report_id = str(community["community_id"])
        self._reports.append(
            {
                "report_id": report_id,
                "human_readable_id": community["human_readable_id"],
                "level": community["level"],
                "title": kept.title,
                "summary": kept.summary,
                "rating": _rating(kept.rating),
                "rating_explanation": kept.rating_explanation,
                "content": kept.content,
                "tokens": self.count(kept.content),
                "engine": IMPORTED,
                "problem": None,
                "repaired": 0,
            }
        )
        self._cite(report_id, -1, cited_elsewhere(kept.summary, kept.cited))
        for position, (summary, explanation) in enumerate(kept.findings):
            self._findings.append(
                {"report_id": report_id, "position": position, "summary": summary, "explanation": explanation}
            )
            self._cite(report_id, position, cited_elsewhere(explanation, kept.cited))

    def frames(self, fingerprints: Mapping[str, str]) -> ReportFrames:
        """Return what was collected.

        Args:
            fingerprints: of what reports were written from, by the id of their community.
        """
        return ReportFrames(
            COMMUNITY_REPORTS.frame(self._reports),
            REPORT_FINDINGS.frame(self._findings),
            REPORT_REFERENCES.frame(self._cited),
            REPORT_CONTEXTS.frame(self._contexts),
            self._context_rows(),
            WRITTEN_REPORTS.frame(
                {
                    "report_id": report_id,
                    "fingerprint": fingerprints[report_id],
                    "written": written_as_text(written),
                    "replies": list(written.replies),
                }
                for report_id, written in self._written.items()
                # One that stands in for a model's is to be asked for again.
                if report_id in fingerprints and not written.problem
            ),
        )

    def _context_rows(self) -> pl.DataFrame:
        named = {"report_id": pl.String(), "kind": pl.String(), "record_id": pl.List(pl.String())}
        return (
            pl.DataFrame(self._shown, schema=named, orient="row")
            .explode("record_id")
            .with_columns(
                position=pl.int_range(pl.len()).over("report_id"),
                number=pl.int_range(1, pl.len() + 1).over("report_id", "kind"),
            )
            .select(pl.col(name).cast(type_) for name, type_ in REPORT_CONTEXT_ROWS.types().items())
            .sort(REPORT_CONTEXT_ROWS.key)
        )

    def _with_references(
        self, report_id: str, context: PackedContext, written: WrittenReport
    ) -> WrittenReport:
        plain = uncited(written)
        summary, cited = self.references.resolve(written.summary, (), written.quotes, context)
        self._cite(report_id, -1, cited)
        findings = []
        for position, finding in enumerate(written.findings):
            text, cited = self.references.resolve(
                finding.explanation, finding.citations, finding.quotes, context
            )
            self._cite(report_id, position, cited)
            findings.append(replace(plain.findings[position], explanation=text))
        return replace(plain, summary=summary, findings=tuple(findings))

    def _cite(self, report_id: str, finding: int, found: Iterable[Reference]) -> None:
        self._cited += [
            {"report_id": report_id, "finding": finding, "position": position, **reference._asdict()}
            for position, reference in enumerate(found)
        ]


def uncited(report: WrittenReport) -> WrittenReport:
    """Return a report with a one-line title and without citations in its texts."""
    return replace(
        report,
        title=" ".join(without_citations(report.title).split()),
        summary=without_citations(report.summary),
        rating_explanation=without_citations(report.rating_explanation),
        findings=tuple(
            replace(
                finding,
                summary=" ".join(without_citations(finding.summary).split()),
                explanation=without_citations(finding.explanation),
            )
            for finding in report.findings
        ),
    )


def markdown(report: WrittenReport) -> str:
    """Return the whole report: title, summary, and each finding under its headline."""
    findings = (f"## {finding.summary}\n\n{finding.explanation}" for finding in report.findings)
    return "\n\n".join([f"# {report.title}", report.summary, *findings])


def _rating(given: float) -> float:
    return min(max(given, 0.0), 10.0) if math.isfinite(given) else 0.0


def _context_row(report_id: str, context: PackedContext) -> dict[str, object]:
    return {
        "report_id": report_id,
        "context": context.text,
        "tokens": context.tokens,
        "entities": len(context.ids["entity"]),
        "relationships": len(context.ids["relationship"]),
        "claims": len(context.ids["claim"]),
        "reports": len(context.ids["report"]),
        "complete": context.complete,
    }
