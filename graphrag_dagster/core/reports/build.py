"""Reports of all communities, bottom-up (paper §3.1.5, spec_graphrag §6)."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress, groupby
from operator import itemgetter
from typing import Any

import polars as pl

from graphrag_dagster.core.errors import EngineError
from graphrag_dagster.core.language.tasks import Quote, RecordKind, ReportRequest, ReportWriter, WrittenReport
from graphrag_dagster.core.progress import stage
from graphrag_dagster.core.reports.context import ChildReport, PackedContext
from graphrag_dagster.core.reports.elements import index_elements
from graphrag_dagster.core.reports.evidence import EvidenceIndex
from graphrag_dagster.core.reports.frames import ReportFrames, ReportRows, markdown, uncited
from graphrag_dagster.core.reports.packing import Packer
from graphrag_dagster.core.reports.references import References

_STAGE = "Writing community reports"


def build_reports(
    *,
    entities: pl.DataFrame,
    relationships: pl.DataFrame,
    claims: pl.DataFrame,
    communities: pl.DataFrame,
    members: pl.DataFrame,
    text_chunks: pl.DataFrame,
    gleaned_entities: pl.DataFrame,
    gleaned_relationships: pl.DataFrame,
    writer: ReportWriter,
    count: Callable[[str], int],
    context_tokens: int,
) -> ReportFrames:
    """Write one report per community, in as few batches as possible.

    The first batch has every community whose elements all fit: its report depends on no other. A context that
    is too large is packed again with the reports of its sub-communities, which are therefore written before:
    those come level by level, the deepest first. Citations of a report are left out of the context above,
    since they point into another context.

    Args:
        entities: rows of ``graph.entities``.
        relationships: rows of ``graph.relationships``.
        claims: rows of ``extraction.claims``.
        communities: rows of ``graph.communities``.
        members: rows of ``graph.community_members``.
        text_chunks: rows of ``corpus.text_chunks``.
        gleaned_entities: rows of ``extraction.gleaned_entities``.
        gleaned_relationships: rows of ``extraction.gleaned_relationships``.
        writer: writes the reports.
        count: tokens of a text.
        context_tokens: most tokens of a packed context.

    Raises:
        EngineError: the writer did not return one report per request.
    """
    elements = index_elements(
        entities=entities,
        relationships=relationships,
        claims=claims,
        communities=communities,
        members=members,
        count=count,
    )
    evidence = EvidenceIndex(
        entities=entities,
        relationships=relationships,
        text_chunks=text_chunks,
        gleaned_entities=gleaned_entities,
        gleaned_relationships=gleaned_relationships,
    )
    numbers: dict[RecordKind, Mapping[str, int]] = {
        "entity": _numbers(entities, "entity_id"),
        "relationship": _numbers(relationships, "relationship_id"),
        "claim": _numbers(claims, "claim_id"),
        "report": _numbers(communities, "community_id"),
    }
    units = dict(text_chunks.select("text_unit_id", "text").iter_rows())
    rows = ReportRows(References(numbers, units), count)
    _write_all(communities, Packer(elements, count, context_tokens), evidence, writer, rows)
    return rows.frames()


def _write_all(
    communities: pl.DataFrame,
    packer: Packer,
    evidence: EvidenceIndex,
    writer: ReportWriter,
    rows: ReportRows,
) -> None:
    largest = int(communities.select(pl.max("summed_degree").fill_null(0)).item()) or 1
    below: dict[str, WrittenReport] = {}
    children: dict[str, ChildReport] = {}
    with stage(_STAGE, len(communities)) as running:
        for batch, whole in _batches(communities, packer):
            contexts = [
                context or packer.pack(community["community_id"], children)
                for community, context in zip(batch, whole, strict=True)
            ]
            # What is large takes long: begun last, it would keep all the others waiting.
            order = sorted(range(len(batch)), key=lambda place: -contexts[place].tokens)
            requests = [
                _request(contexts[place], evidence, below, batch[place]["summed_degree"] / largest)
                for place in order
            ]
            for place, report in zip(order, _written(writer, requests), strict=True):
                community = batch[place]
                rows.add(community, contexts[place], report)
                below[community["community_id"]] = report
                children[community["community_id"]] = _child(report)
                running.advance()


def _batches(
    communities: pl.DataFrame, packer: Packer
) -> Iterator[tuple[list[dict[str, Any]], list[PackedContext | None]]]:
    """Communities to write together, with their contexts where those are known already."""
    ordered = communities.sort(["level", "community_id"], descending=[True, False]).to_dicts()
    packed = [packer.pack(community["community_id"], {}) for community in ordered]
    fits = [context.complete for context in packed]
    if any(fits):
        yield list(compress(ordered, fits)), list(compress(packed, fits))
    left = compress(ordered, (not fit for fit in fits))
    for _, level in groupby(left, key=itemgetter("level")):
        batch = list(level)
        yield batch, [None] * len(batch)


def _request(
    context: PackedContext,
    evidence: EvidenceIndex,
    below: Mapping[str, WrittenReport],
    prominence: float,
) -> ReportRequest:
    quoted = (quote for child in context.ids["report"] for quote in _quotes(below[child]))
    return ReportRequest(
        context=context.text,
        entities=context.entities,
        relationships=context.relationships,
        reports=context.reports,
        evidence=evidence.of(context, quoted),
        prominence=prominence,
    )


def _written(writer: ReportWriter, requests: Sequence[ReportRequest]) -> Iterator[WrittenReport]:
    given = 0
    for given, report in enumerate(writer.write(requests), start=1):
        if given <= len(requests):
            yield report
    if given != len(requests):
        raise EngineError(
            f"the {writer.engine} report writer gave {given} reports for {len(requests)} requests: it "
            "must give one per request, in their order"
        )


def _child(report: WrittenReport) -> ChildReport:
    plain = uncited(report)
    return ChildReport(plain.title, plain.summary, markdown(plain))


def _quotes(report: WrittenReport) -> list[Quote]:
    return [*report.quotes, *(quote for finding in report.findings for quote in finding.quotes)]


def _numbers(frame: pl.DataFrame, column: str) -> dict[str, int]:
    return dict(frame.select(column, "human_readable_id").iter_rows())
