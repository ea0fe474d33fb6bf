"""Reports of all communities, bottom-up (paper §3.1.5, spec_graphrag §6)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import polars as pl

from graphrag_dagster.kernel.common.deferred import Deferred, once
from graphrag_dagster.kernel.common.progress import stage
from graphrag_dagster.kernel.questions.report_citations import References, without_citations
from graphrag_dagster.kernel.tasks.ports import (
    RecordKind,
    ReportRequest,
    ReportWriter,
    SupportingSentence,
    WrittenReport,
)
from graphrag_dagster.kernel.text.tokens import TokenCounter
from graphrag_dagster.systems.graphrag.reports.context import ChildReport, PackedContext
from graphrag_dagster.systems.graphrag.reports.context_nodes import Attached, ContextNodes, attached_nodes
from graphrag_dagster.systems.graphrag.reports.earlier import EarlierReport, KeptReport
from graphrag_dagster.systems.graphrag.reports.elements import Elements, index_elements
from graphrag_dagster.systems.graphrag.reports.evidence import EvidenceIndex
from graphrag_dagster.systems.graphrag.reports.fingerprints import Fingerprints
from graphrag_dagster.systems.graphrag.reports.frames import ReportFrames, ReportRows, markdown, one_line
from graphrag_dagster.systems.graphrag.reports.packing import Packer
from graphrag_dagster.systems.graphrag.reports.waves import Waves, doubling, most_urgent_first

_STAGE = "Writing community reports"
_Community = dict[str, Any]
_Packed = tuple[_Community, PackedContext]


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
    aliases: pl.DataFrame,
    context_nodes: pl.DataFrame,
    writer: ReportWriter,
    tokens: TokenCounter,
    context_tokens: int,
    context_share: float,
    kept: Mapping[str, KeptReport] = MappingProxyType({}),
    basis: str = "",
    earlier: Mapping[str, EarlierReport] = MappingProxyType({}),
    at_once: int | None = None,
) -> ReportFrames:
    """Write one report per community, none of which waits longer than it must.

    First comes every community whose elements all fit: its report depends on no other. A context that is too
    large is packed again with the reports of its sub-communities, as soon as all of those are written, while
    others still are. Citations of a report are left out of the context above, since they point into another
    context.

    Args:
        entities: rows of ``graph.entities``.
        relationships: rows of ``graph.relationships``.
        claims: rows of ``graph.claims``.
        communities: rows of ``graph.communities``.
        members: rows of ``graph.community_members``.
        text_chunks: rows of ``corpus.text_chunks``.
        gleaned_entities: rows of ``extraction.gleaned_entities``.
        gleaned_relationships: rows of ``extraction.gleaned_relationships``.
        aliases: rows of ``resolution.aliases``.
        context_nodes: rows of ``graph.context_nodes``.
        writer: writes the reports.
        tokens: counts tokens.
        context_tokens: most tokens of a packed context.
        context_share: of these, most that the section of the context nodes takes.
        kept: reports that stay as they are, by the id of their community.
        basis: what decides reports beside these tables, such as the model and the code.
        earlier: reports that are taken over where nothing has changed, by what they were written from.
        at_once: most requests that are made before others are written; None for as many as there are, which
            is what a model is best asked with.

    Raises:
        EngineError: the writer did not return one report per request.
    """
    elements = index_elements(
        entities=entities,
        relationships=relationships,
        claims=claims,
        communities=communities,
        members=members,
        count=tokens.counts_of_lines,
    )
    numbers: dict[RecordKind, Mapping[str, int]] = {
        "entity": _numbers(entities, "entity_id"),
        "relationship": _numbers(relationships, "relationship_id"),
        "claim": _numbers(claims, "claim_id"),
        "report": _numbers(communities, "community_id"),
    }
    units = dict(text_chunks.select("text_unit_id", "text").iter_rows())
    attached = attached_nodes(context_nodes, communities, elements)
    behind = ContextNodes(attached, elements, tokens.count, context_tokens, context_share)
    packer = Packer(elements, tokens.count, context_tokens, behind, rows_add_up=tokens.lines_add_up)
    # What came with a graph stands in for nothing, and what is above it is written from it.
    fingerprints = (
        {}
        if kept
        else Fingerprints(
            basis,
            elements,
            attached,
            entities=entities,
            relationships=relationships,
            text_chunks=text_chunks,
            gleaned_entities=gleaned_entities,
            gleaned_relationships=gleaned_relationships,
            aliases=aliases,
        ).of(communities)
    )
    rows = ReportRows(References(numbers, units), tokens.count, fingerprints)
    found = {name: earlier[one] for name, one in fingerprints.items() if one in earlier}
    missing = communities.filter(~pl.col("community_id").is_in([*found, *kept]))
    evidence = once(
        lambda: EvidenceIndex(
            entities=entities,
            relationships=relationships,
            text_chunks=text_chunks,
            units=units,
            gleaned_entities=gleaned_entities,
            gleaned_relationships=gleaned_relationships,
            aliases=aliases,
            concerning=_shown_of(elements, attached, missing["community_id"]) if found or kept else None,
        )
    )
    largest = int(communities.select(pl.max("summed_degree").fill_null(0)).item()) or 1
    below = _stored(communities, rows, kept, found, largest)
    waiting = most_urgent_first(missing.iter_rows(named=True), elements, context_tokens)
    _write_all(waiting, elements, packer, evidence, Waves(writer), rows, below, largest, at_once)
    return rows.frames()


def _shown_of(
    elements: Elements, attached: Mapping[str, Sequence[Attached]], communities: Iterable[str]
) -> set[str]:
    """Return the names of all entities that contexts of some communities may show."""
    places: set[int] = set()
    for name in communities:
        places.update(elements.communities[name].members.tolist())
        places.update(node.entity for node in attached.get(name, ()))
    return {elements.names[place] for place in places}


def _write_all(
    communities: Sequence[_Community],
    elements: Elements,
    packer: Packer,
    evidence: Callable[[], EvidenceIndex],
    waves: Waves[_Packed],
    rows: ReportRows,
    below: dict[str, WrittenReport],
    largest: int,
    at_once: int | None,
) -> None:
    """Write the reports of communities, those first that come first; ``below`` are all that there are."""
    unwritten = Counter(community["parent_id"] for community in communities)
    waiting: dict[str, _Community] = {}

    def packed_first(some: Sequence[_Community]) -> Iterator[_Packed]:
        """Those of some communities whose report depends on no other; the others wait."""
        elements.count_rows_of(community["community_id"] for community in some)
        for community in some:
            name = community["community_id"]
            if whole := packer.complete(name):
                yield community, whole
            elif unwritten[name]:
                waiting[name] = community
            else:
                yield _packed(community, elements, packer, below)

    def begin(batch: Iterable[_Packed]) -> None:
        waves.begin(
            [(one, _request(one[1], evidence, below, one[0]["summed_degree"] / largest)) for one in batch]
        )

    def take(written: Iterable[tuple[_Packed, WrittenReport]]) -> None:
        for (community, context), report in written:
            below[community["community_id"]] = report
            above = community["parent_id"]
            unwritten[above] -= 1
            if not unwritten[above] and (parent := waiting.pop(above, None)):
                begin([_packed(parent, elements, packer, below)])
            rows.add(community, context, report)
            running.advance()

    with stage(_STAGE, len(communities)) as running, waves:
        for some in doubling(communities, at_once):
            begin(packed_first(some))
            take(waves.results(at_once))
        take(waves.results())


def _packed(
    community: _Community, elements: Elements, packer: Packer, below: Mapping[str, WrittenReport]
) -> _Packed:
    name = community["community_id"]
    children = elements.communities[name].children
    return community, packer.pack(name, {one: _child(below[one]) for one in children if one in below})


def _stored(
    communities: pl.DataFrame,
    rows: ReportRows,
    kept: Mapping[str, KeptReport],
    found: Mapping[str, EarlierReport],
    largest: int,
) -> dict[str, WrittenReport]:
    """Store the reports that are there already; return them by the ids of their communities."""
    below = {name: one.written() for name, one in kept.items()}
    for community in _only(communities, kept):
        rows.keep(community, kept[community["community_id"]])
    for community in _only(communities, found):
        name = community["community_id"]
        below[name] = found[name].under(community["summed_degree"] / largest)
        rows.take_over(community, found[name], below[name])
    return below


def _only(communities: pl.DataFrame, names: Iterable[str]) -> Iterator[_Community]:
    return communities.filter(pl.col("community_id").is_in(list(names))).iter_rows(named=True)


def _request(
    context: PackedContext,
    evidence: Callable[[], EvidenceIndex],
    below: Mapping[str, WrittenReport],
    prominence: float,
) -> ReportRequest:
    return ReportRequest(
        context=context.text,
        entities=context.entities,
        relationships=context.relationships,
        reports=context.reports,
        evidence=Deferred(_supporting, context, evidence, below),
        prominence=prominence,
        context_nodes=context.context_nodes,
        context_evidence=(
            Deferred(lambda: evidence().of_context_nodes(context)) if context.context_nodes else ()
        ),
    )


def _supporting(
    context: PackedContext, evidence: Callable[[], EvidenceIndex], below: Mapping[str, WrittenReport]
) -> tuple[SupportingSentence, ...]:
    children = [below[child] for child in context.ids["report"]]
    quoted = (
        quote
        for child in children
        for quotes in (child.quotes, *(finding.quotes for finding in child.findings))
        for quote in quotes
    )
    return evidence().of(context, quoted)


def _child(report: WrittenReport) -> ChildReport:
    title, summary = one_line(report.title), without_citations(report.summary)
    findings = [(one_line(one.summary), without_citations(one.explanation)) for one in report.findings]
    return ChildReport(title, summary, markdown(title, summary, findings))


def _numbers(frame: pl.DataFrame, column: str) -> dict[str, int]:
    return dict(frame.select(column, "human_readable_id").iter_rows())
