"""Reports as rows of their tables."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from graphrag_dagster.kernel.tables import (
    COMMUNITY_REPORTS,
    REPORT_CONTEXT_ROWS,
    REPORT_CONTEXTS,
    REPORT_FINDINGS,
    REPORT_REFERENCES,
    WRITTEN_REPORTS,
    Table,
)
from graphrag_dagster.kernel.tasks.report_citations import (
    Reference,
    References,
    references_cited_elsewhere,
    without_citations,
)
from graphrag_dagster.kernel.tasks.task_ports import RecordKind, WrittenReport
from graphrag_dagster.systems.graphrag.reports.report_context import PackedContext
from graphrag_dagster.systems.graphrag.reports.report_reuse import (
    IMPORTED,
    AdoptedReport,
    EarlierReport,
    report_as_json,
)

#: Rows that are held as Python's objects at once.
_AT_ONCE = 2_000
#: Stands for the tokens of a report until all are written.
_NOT_COUNTED = -1
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


class _Collected:
    """Rows of a table as they come, with their values in the order of the columns.

    Most are held as compressed frames, which take a quarter of the memory of frames.
    """

    def __init__(self, table: Table) -> None:
        self._table = table
        self._rows: list[tuple[object, ...]] = []
        self._frames: list[bytes] = []

    def add(self, rows: Iterable[tuple[object, ...]]) -> None:
        self._rows += rows
        if len(self._rows) >= _AT_ONCE:
            frame = self._table.frame_of(self._rows)
            self._frames.append(frame.write_ipc(None, compression="zstd").getvalue())
            self._rows.clear()

    def frame(self) -> pl.DataFrame:
        """Return all rows, sorted by the key, and let go of them."""
        frames = [*map(pl.read_ipc, self._frames), self._table.frame_of(self._rows)]
        self._frames.clear()
        self._rows.clear()
        return pl.concat(frames).sort(self._table.key)


class ReportRows:
    """Collects reports as rows of their tables.

    Args:
        fingerprints: of what reports are written from, by the id of their community.
    """

    def __init__(
        self, references: References, count: Callable[[str], int], fingerprints: Mapping[str, str]
    ) -> None:
        self._references = references
        self._count = count
        self._fingerprints = fingerprints
        self._reports = _Collected(COMMUNITY_REPORTS)
        self._findings = _Collected(REPORT_FINDINGS)
        self._cited = _Collected(REPORT_REFERENCES)
        self._contexts = _Collected(REPORT_CONTEXTS)
        self._shown = _Collected(REPORT_CONTEXT_ROWS)
        self._written = _Collected(WRITTEN_REPORTS)
        self._tokens: dict[str, int] = {}

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
        """Store the report of a community: its text with resolved citations, its findings, its context."""
        report_id = str(community["community_id"])
        title, resolve = one_line(written.title), self._references.resolve
        summary, cited = resolve(written.summary, (), written.quotes, context.ids)
        self._cite(report_id, -1, cited)
        findings = []
        for position, one in enumerate(written.findings):
            explanation, cited = resolve(one.explanation, one.citations, one.quotes, context.ids)
            self._cite(report_id, position, cited)
            findings.append((one_line(one.summary), explanation))
        rated = _rating(written.rating), without_citations(written.rating_explanation)
        told = written.engine, written.problem, written.usage.repaired
        before = (*_keys(community), title, summary, *rated)
        self._reports.add([(*before, markdown(title, summary, findings), _NOT_COUNTED, *told)])
        self._findings.add((report_id, position, *texts) for position, texts in enumerate(findings))
        self._contexts.add([_context_row(report_id, context)])
        self._shown.add(_shown_rows(report_id, context.ids))
        # One that stands in for a model's is to be asked for again.
        if report_id in self._fingerprints and not written.problem:
            kept = as_text or report_as_json(written)
            self._written.add([(report_id, self._fingerprints[report_id], kept, list(written.replies))])

    def keep(self, community: Mapping[str, object], kept: AdoptedReport) -> None:
        """Store a report that was written elsewhere, as it came; what it cites is looked up."""
        report_id = str(community["community_id"])
        rated = _rating(kept.rating), kept.rating_explanation
        before = (*_keys(community), kept.title, kept.summary, *rated)
        self._reports.add([(*before, kept.content, _NOT_COUNTED, IMPORTED, None, 0)])
        self._cite(report_id, -1, references_cited_elsewhere(kept.summary, kept.cited))
        for position, (summary, explanation) in enumerate(kept.findings):
            self._findings.add([(report_id, position, summary, explanation)])
            self._cite(report_id, position, references_cited_elsewhere(explanation, kept.cited))

    def frames(self) -> ReportFrames:
        """Return what was collected."""
        # Counted now, since each count lets other threads in and waits for them: while many call a model,
        # that would keep the next requests from being made.
        reports = self._reports.frame()
        known = self._tokens
        tokens = [known[text] if text in known else self._count(text) for text in reports["content"]]
        return ReportFrames(
            reports.with_columns(tokens=pl.Series(tokens, dtype=reports.schema["tokens"])),
            self._findings.frame(),
            self._cited.frame(),
            self._contexts.frame(),
            self._shown.frame(),
            self._written.frame(),
        )

    def _cite(self, report_id: str, finding: int, found: Iterable[Reference]) -> None:
        self._cited.add((report_id, finding, position, *one) for position, one in enumerate(found))


def one_line(text: str) -> str:
    """Return a title or headline on one line, without citations."""
    return " ".join(without_citations(text).split())


def markdown(title: str, summary: str, findings: Iterable[tuple[str, str]]) -> str:
    """Return a whole report: title, summary, and each finding, a headline and its explanation, under it."""
    told = (f"## {headline}\n\n{explanation}" for headline, explanation in findings)
    return "\n\n".join([f"# {title}", summary, *told])


def _rating(given: float) -> float:
    return min(max(given, 0.0), 10.0) if math.isfinite(given) else 0.0


def _keys(community: Mapping[str, object]) -> tuple[object, ...]:
    return community["community_id"], community["human_readable_id"], community["level"]


def _shown_rows(report_id: str, ids: Mapping[RecordKind, Sequence[str]]) -> Iterator[tuple[object, ...]]:
    numbered = ((kind, number, one) for kind, some in ids.items() for number, one in enumerate(some, start=1))
    for position, row in enumerate(numbered):
        yield (report_id, position, *row)


def _context_row(report_id: str, context: PackedContext) -> tuple[object, ...]:
    return (
        report_id,
        context.text,
        context.tokens,
        *(len(context.ids[kind]) for kind in _COUNTED),
        context.complete,
    )


#: The columns of ``reports.report_contexts`` that count rows, by their kind.
COUNTED_AS = {"report": "reports", "entity": "entities", "claim": "claims", "relationship": "relationships"}


def check_context_rows(
    contexts: pl.DataFrame, context_rows: pl.DataFrame, records: Mapping[str, pl.Series]
) -> list[str]:
    """Return what is wrong: rows that are not as many as a context counts, or that show what there is not.

    Args:
        contexts: rows of ``reports.report_contexts``.
        context_rows: rows of ``reports.report_context_rows``.
        records: the ids that there are, by kind of row.
    """
    found = context_rows.group_by("report_id").agg(
        (pl.col("kind") == kind).sum().alias(f"{name}_found") for kind, name in COUNTED_AS.items()
    )
    counted = contexts.join(found, on="report_id", how="left").with_columns(
        pl.col(f"{name}_found").fill_null(0) for name in COUNTED_AS.values()
    )
    problems = []
    for kind, name in COUNTED_AS.items():
        wrong = counted.filter(pl.col(name) != pl.col(f"{name}_found"))
        problems += [
            f"{report_id}: {found} {kind} rows, its context has {there}"
            for report_id, there, found in wrong.select("report_id", name, f"{name}_found").iter_rows()
        ]
        lost = context_rows.filter(
            pl.col("kind") == kind, ~pl.col("record_id").is_in(records[kind].implode())
        )
        problems += [
            f"{report_id}: its row {position} shows the {kind} {record_id}, which does not exist"
            for report_id, position, record_id in lost.select(
                "report_id", "position", "record_id"
            ).iter_rows()
        ]
    return problems
