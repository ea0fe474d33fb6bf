"""Reports of all communities, bottom-up (paper §3.1.5, spec_graphrag §6)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import polars as pl

from graphrag_dagster.core.deferred import Deferred, once
from graphrag_dagster.core.language.tasks import (
    Quote,
    RecordKind,
    ReportRequest,
    ReportWriter,
    SupportingSentence,
    WrittenReport,
)
from graphrag_dagster.core.progress import stage
from graphrag_dagster.core.reports.citations import References, without_citations
from graphrag_dagster.core.reports.context import ChildReport, PackedContext
from graphrag_dagster.core.reports.context_nodes import Attached, ContextNodes, attached_nodes
from graphrag_dagster.core.reports.earlier import EarlierReport, KeptReport
from graphrag_dagster.core.reports.elements import Elements, index_elements
from graphrag_dagster.core.reports.evidence import EvidenceIndex
from graphrag_dagster.core.reports.fingerprints import Fingerprints
from graphrag_dagster.core.reports.frames import ReportFrames, ReportRows, markdown, one_line
from graphrag_dagster.core.reports.packing import Packer
from graphrag_dagster.core.reports.urgency import Urgency, doubling
from graphrag_dagster.core.reports.waves import Waves
from graphrag_dagster.core.text.tokens import TokenCounter

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
    missing = communities.filter(~pl.col("community_id").is_in([*found, *kept]))["community_id"]
    evidence = once(
        lambda: EvidenceIndex(
            entities=entities,
            relationships=relationships,
            text_chunks=text_chunks,
            units=units,
            gleaned_entities=gleaned_entities,
            gleaned_relationships=gleaned_relationships,
            aliases=aliases,
            concerning=_shown_of(elements, attached, missing) if found or kept else None,
        )
    )
    urgency = Urgency(elements, context_tokens)
    waves = Waves[_Packed](writer, at_once)
    _write_all(communities, packer, urgency, evidence, waves, rows, kept, found)
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
    communities: pl.DataFrame,
    packer: Packer,
    urgency: Urgency,
    evidence: Callable[[], EvidenceIndex],
    waves: Waves[_Packed],
    rows: ReportRows,
    kept: Mapping[str, KeptReport],
    found: Mapping[str, EarlierReport],
) -> None:
    largest = int(communities.select(pl.max("summed_degree").fill_null(0)).item()) or 1
    below = _stored(communities, rows, kept, found, largest)
    children = _Children(below)
    communities = communities.filter(~pl.col("community_id").is_in(list(below)))

    waiting = _Waiting(Counter(communities["parent_id"].drop_nulls()))

    def requests(batch: Iterable[_Packed]) -> list[tuple[_Packed, ReportRequest]]:
        return [
            (packed, _request(packed[1], evidence, below, packed[0]["summed_degree"] / largest))
            for packed in batch
        ]

    def packed_first(some: Sequence[_Community]) -> Iterator[_Packed]:
        """Those of some communities whose report depends on no other; the others wait."""
        packer.count_rows_of(community["community_id"] for community in some)
        for community in some:
            name = community["community_id"]
            if whole := packer.complete(name):
                yield community, whole
            elif not waiting.depends(community):
                yield community, packer.pack(name, children)

    def take(written: Iterable[tuple[_Packed, WrittenReport]]) -> None:
        for (community, context), report in written:
            name = community["community_id"]
            below[name] = report
            if parent := waiting.written_below(community["parent_id"]):
                waves.begin(requests([(parent, packer.pack(parent["community_id"], children))]))
            rows.add(community, context, report)
            running.advance()

    with stage(_STAGE, len(communities)) as running, waves:
        for some in doubling(urgency.ordered(communities.iter_rows(named=True)), waves.at_once):
            waves.begin(requests(packed_first(some)))
            take(waves.awaited())
        take(waves.results())


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


class _Children(Mapping[str, ChildReport]):
    """Reports as they may stand in contexts above; each is made so when it is looked at."""

    def __init__(self, reports: Mapping[str, WrittenReport]) -> None:
        self._reports = reports
        self._made: dict[str, ChildReport] = {}

    def __getitem__(self, name: str) -> ChildReport:
        if name not in self._made:
            self._made[name] = _child(self._reports[name])
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._reports

    def __iter__(self) -> Iterator[str]:
        return iter(self._reports)

    def __len__(self) -> int:
        return len(self._reports)


def _only(communities: pl.DataFrame, names: Iterable[str]) -> Iterator[_Community]:
    return communities.filter(pl.col("community_id").is_in(list(names))).iter_rows(named=True)


class _Waiting:
    """Communities whose context needs the reports of their sub-communities."""

    def __init__(self, children: Mapping[str, int]) -> None:
        self._missing = dict(children)
        self._communities: dict[str, _Community] = {}

    def depends(self, community: _Community) -> bool:
        """Let a community wait for its sub-communities; return whether there is any to wait for."""
        name = community["community_id"]
        if not self._missing.get(name):
            return False
        self._communities[name] = community
        return True

    def written_below(self, name: str | None) -> _Community | None:
        """Take note of a report below a community; return the community when that was the last it needs."""
        if name is None or name not in self._missing:
            return None
        self._missing[name] -= 1
        return None if self._missing[name] else self._communities.pop(name, None)


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
        context_evidence=Deferred(_about_context_nodes, context, evidence) if context.context_nodes else (),
    )


def _supporting(
    context: PackedContext, evidence: Callable[[], EvidenceIndex], below: Mapping[str, WrittenReport]
) -> tuple[SupportingSentence, ...]:
    quoted = (quote for child in context.ids["report"] for quote in _quotes(below[child]))
    return evidence().of(context, quoted)


def _about_context_nodes(
    context: PackedContext, evidence: Callable[[], EvidenceIndex]
) -> tuple[SupportingSentence, ...]:
    return evidence().of_context_nodes(context)


def _child(report: WrittenReport) -> ChildReport:
    title, summary = one_line(report.title), without_citations(report.summary)
    findings = [(one_line(one.summary), without_citations(one.explanation)) for one in report.findings]
    return ChildReport(title, summary, markdown(title, summary, findings))


def _quotes(report: WrittenReport) -> list[Quote]:
    return [*report.quotes, *(quote for finding in report.findings for quote in finding.quotes)]


def _numbers(frame: pl.DataFrame, column: str) -> dict[str, int]:
    return dict(frame.select(column, "human_readable_id").iter_rows())
