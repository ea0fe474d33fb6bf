"""Reports as rows of their tables."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import polars as pl

from graphrag_dagster.core.language.tasks import Finding, RecordKind, WrittenReport
from graphrag_dagster.core.reports.citations import without_citations
from graphrag_dagster.core.reports.context import PackedContext
from graphrag_dagster.core.reports.earlier import EarlierReport, written_as_text
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

#: As the columns of ``reports.report_contexts`` stand.
_COUNTED: tuple[RecordKind, ...] = ("entity", "relationship", "claim", "report")


@dataclass(frozen=True, slots=True)
class ReportFrames:
    """The tables of the stage ``reports``, each in the order of its key."""

    reports: pl.DataFrame
    findings: pl.DataFrame
    references: pl.DataFrame
    contexts: pl.DataFrame
    context_rows: pl.DataFrame
    written: pl.DataFrame


class _Report(NamedTuple):
    """A row of ``reports.community_reports`` before its tokens are counted."""

    community: Mapping[str, object]
    title: str
    summary: str
    rating: float
    rating_explanation: str
    content: str
    engine: str
    problem: str | None = None
    repaired: int = 0


@dataclass(slots=True)
class ReportRows:
    """Collects reports as rows in the order of the columns; ``count`` gives the tokens of a text."""

    references: References
    count: Callable[[str], int]
    _reports: list[_Report] = field(default_factory=list)
    _findings: list[tuple[object, ...]] = field(default_factory=list)
    _cited: list[tuple[object, ...]] = field(default_factory=list)
    _contexts: list[tuple[object, ...]] = field(default_factory=list)
    _shown: list[tuple[str, Mapping[RecordKind, Sequence[str]]]] = field(default_factory=list)
    _written: list[tuple[str, WrittenReport, str | None]] = field(default_factory=list)
    _tokens: dict[str, int] = field(default_factory=dict)

    def take_over(
        self, community: Mapping[str, object], earlier: EarlierReport, written: WrittenReport
    ) -> None:
        """Store a report of before, as :meth:`add` does; ``written`` is what it is for this community."""
        self._tokens[earlier.content] = earlier.tokens
        self.add(community, earlier.context, written, earlier.text if written is earlier.report else None)

    def add(
        self,
        community: Mapping[str, object],
        context: PackedContext,
        written: WrittenReport,
        as_text: str | None = None,
    ) -> None:
        """Store the report of a community: its text with resolved citations, its findings, its context.

        Args:
            community: row of ``graph.communities``.
            context: that it was written from.
            written: the report.
            as_text: how it is kept, where that is known.
        """
        report_id = str(community["community_id"])
        title, summary = one_line(written.title), self._resolved(report_id, context, written)
        findings = [
            (one_line(finding.summary), self._explained(report_id, position, context, finding))
            for position, finding in enumerate(written.findings)
        ]
        self._reports.append(
            _Report(
                community,
                title,
                summary,
                _rating(written.rating),
                without_citations(written.rating_explanation),
                markdown(title, summary, findings),
                written.engine,
                written.problem,
                written.usage.repaired,
            )
        )
        self._findings += [(report_id, position, *texts) for position, texts in enumerate(findings)]
        self._contexts.append(_context_row(report_id, context))
        self._written.append((report_id, written, as_text))
        self._shown.append((report_id, context.ids))

    def keep(self, community: Mapping[str, object], kept: KeptReport) -> None:
        """Store a report that was written elsewhere, as it came; what it cites is looked up."""
        report_id = str(community["community_id"])
        self._reports.append(
            _Report(
                community,
                kept.title,
                kept.summary,
                _rating(kept.rating),
                kept.rating_explanation,
                kept.content,
                IMPORTED,
            )
        )
        self._cite(report_id, -1, cited_elsewhere(kept.summary, kept.cited))
        for position, (summary, explanation) in enumerate(kept.findings):
            self._findings.append((report_id, position, summary, explanation))
            self._cite(report_id, position, cited_elsewhere(explanation, kept.cited))

    def frames(self, fingerprints: Mapping[str, str]) -> ReportFrames:
        """Return what was collected.

        Args:
            fingerprints: of what reports were written from, by the id of their community.
        """
        # Counted now, since each count lets other threads in and waits for them: while many call a model,
        # that would keep the next requests from being made.
        tokens = [self._tokens_of(report.content) for report in self._reports]
        return ReportFrames(
            COMMUNITY_REPORTS.frame_of(map(_report_row, self._reports, tokens)),
            REPORT_FINDINGS.frame_of(self._findings),
            REPORT_REFERENCES.frame_of(self._cited),
            REPORT_CONTEXTS.frame_of(self._contexts),
            REPORT_CONTEXT_ROWS.frame_of(self._context_rows()),
            WRITTEN_REPORTS.frame_of(
                (report_id, fingerprints[report_id], text or written_as_text(written), list(written.replies))
                for report_id, written, text in self._written
                # One that stands in for a model's is to be asked for again.
                if report_id in fingerprints and not written.problem
            ),
        )

    def _tokens_of(self, content: str) -> int:
        known = self._tokens.get(content)
        return self.count(content) if known is None else known

    def _context_rows(self) -> Iterator[tuple[object, ...]]:
        for report_id, shown in self._shown:
            numbered = (
                (kind, number, one) for kind, ids in shown.items() for number, one in enumerate(ids, 1)
            )
            for position, row in enumerate(numbered):
                yield (report_id, position, *row)

    def _resolved(self, report_id: str, context: PackedContext, written: WrittenReport) -> str:
        summary, cited = self.references.resolve(written.summary, (), written.quotes, context)
        self._cite(report_id, -1, cited)
        return summary

    def _explained(self, report_id: str, position: int, context: PackedContext, finding: Finding) -> str:
        text, cited = self.references.resolve(finding.explanation, finding.citations, finding.quotes, context)
        self._cite(report_id, position, cited)
        return text

    def _cite(self, report_id: str, finding: int, found: Iterable[Reference]) -> None:
        self._cited += [
            (report_id, finding, position, *reference) for position, reference in enumerate(found)
        ]


def one_line(text: str) -> str:
    """Return a title or headline on one line, without citations."""
    return " ".join(without_citations(text).split())


def markdown(title: str, summary: str, findings: Iterable[tuple[str, str]]) -> str:
    """Return a whole report: title, summary, and each finding, a headline and its explanation, under it."""
    told = (f"## {headline}\n\n{explanation}" for headline, explanation in findings)
    return "\n\n".join([f"# {title}", summary, *told])


def _rating(given: float) -> float:
    return min(max(given, 0.0), 10.0) if math.isfinite(given) else 0.0


def _report_row(report: _Report, tokens: int) -> tuple[object, ...]:
    community = report.community
    return (
        community["community_id"],
        community["human_readable_id"],
        community["level"],
        report.title,
        report.summary,
        report.rating,
        report.rating_explanation,
        report.content,
        tokens,
        report.engine,
        report.problem,
        report.repaired,
    )


def _context_row(report_id: str, context: PackedContext) -> tuple[object, ...]:
    return (
        report_id,
        context.text,
        context.tokens,
        *(len(context.ids[kind]) for kind in _COUNTED),
        context.complete,
    )
