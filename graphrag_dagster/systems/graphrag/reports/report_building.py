"""Reports of all communities, bottom-up and concurrently (paper §3.1.5)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import SimpleQueue
from types import MappingProxyType, TracebackType
from typing import Any, Generic, TypeVar

import polars as pl

from graphrag_dagster.errors import EngineError
from graphrag_dagster.kernel.common.lazy_values import AsRead, once
from graphrag_dagster.kernel.common.progress import stage
from graphrag_dagster.kernel.tables.context_node_tables import CONTEXT_NODES
from graphrag_dagster.kernel.tables.core_tables import (
    COMMUNITIES,
    ENTITIES,
    MERGED_CLAIMS,
    RELATIONSHIPS,
    TEXT_CHUNKS,
)
from graphrag_dagster.kernel.tables.table_declaration import Tables
from graphrag_dagster.kernel.tasks.report_citations import References, without_citations
from graphrag_dagster.kernel.tasks.task_ports import (
    RecordKind,
    ReportRequest,
    ReportWriter,
    SupportingSentence,
    WrittenReport,
)
from graphrag_dagster.kernel.text.tokenization import TokenCounter
from graphrag_dagster.systems.graphrag.reports.context_node_section import (
    Attached,
    ContextNodes,
    attached_nodes,
)
from graphrag_dagster.systems.graphrag.reports.context_packing import Packer
from graphrag_dagster.systems.graphrag.reports.report_context import (
    ChildReport,
    Elements,
    PackedContext,
    index_elements,
)
from graphrag_dagster.systems.graphrag.reports.report_evidence import EvidenceIndex
from graphrag_dagster.systems.graphrag.reports.report_reuse import AdoptedReport, EarlierReport, fingerprints
from graphrag_dagster.systems.graphrag.reports.report_tables import (
    ReportFrames,
    ReportRows,
    markdown,
    one_line,
)

T = TypeVar("T")

#: At once; those of a large graph are begun in a dozen batches, and its larger communities by themselves.
_WAVES = 32
_CHARACTERS_PER_TOKEN = 4
#: Enough to keep an endpoint busy while the next are packed.
_FIRST = 64


class Waves(Generic[T]):
    """Hands batches to a writer, each in a thread of its own; a context manager.

    A report that depends on others can be begun as soon as those are there, without waiting for the rest.

    Args:
        writer: writes the reports; must allow several calls at once.
        give_up: ends what the writer is doing; called where the block ends with an error.
    """

    def __init__(self, writer: ReportWriter, give_up: Callable[[], None] = lambda: None) -> None:
        self._writer = writer
        self._give_up = give_up
        self._threads = ThreadPoolExecutor(max_workers=_WAVES, thread_name_prefix="report-wave")
        self._came: SimpleQueue[tuple[T, WrittenReport] | BaseException] = SimpleQueue()
        self._under_way = 0
        self._stopped = False

    def __enter__(self) -> "Waves[T]":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped = True
        if error:
            self._give_up()
        self._threads.shutdown(cancel_futures=True)

    def begin(self, batch: Sequence[tuple[T, ReportRequest]]) -> None:
        """Begin a batch of requests, each with what it is for."""
        self._under_way += len(batch)
        self._threads.submit(self._write, batch)

    def results(self, most: int | None = 0) -> Iterator[tuple[T, WrittenReport]]:
        """Yield what was asked for and its report, as they come, until no more than ``most`` are under way.

        None for any number.

        Raises:
            EngineError: the writer did not give one report per request.
        """
        while most is not None and self._under_way > most:
            came = self._came.get()
            if isinstance(came, BaseException):
                raise came
            self._under_way -= 1
            yield came

    def _write(self, batch: Sequence[tuple[T, ReportRequest]]) -> None:
        given = 0
        try:
            for given, report in enumerate(self._writer.write([request for _, request in batch]), start=1):
                if self._stopped:
                    return
                if given <= len(batch):
                    self._came.put((batch[given - 1][0], report))
            if given != len(batch):
                raise EngineError(
                    f"the {self._writer.engine} report writer returned {given} reports for {len(batch)} "
                    "requests: it must return one per request, in order"
                )
        except BaseException as error:
            self._came.put(error)


def by_urgency(communities: Iterable[dict[str, Any]], elements: Elements, limit: int) -> list[dict[str, Any]]:
    """Return rows of ``graph.communities`` in the order in which their reports are best begun.

    Those come first that a larger community is likely to wait for, then what is large and takes long, since
    begun last it would keep all waiting. Sizes are told from the lengths of texts, before anything is packed.
    """
    entities, edges = elements.entities.characters(), elements.relationships.characters()
    size = {
        name: int(entities[one.members].sum() + edges[one.edges].sum())
        for name, one in elements.communities.items()
    }

    def urgency(community: dict[str, Any]) -> tuple[bool, int, str]:
        name = community["community_id"]
        return size.get(community["parent_id"], 0) <= limit * _CHARACTERS_PER_TOKEN, -size[name], name

    return sorted(communities, key=urgency)


def doubling_batches(items: Sequence[T], most: int | None = None) -> Iterator[Sequence[T]]:
    """Yield batches of items, a small one first and each twice as long as the one before, up to ``most``."""
    start, size = 0, min(_FIRST, most or _FIRST)
    while start < len(items):
        yield items[start : start + size]
        start, size = start + size, min(2 * size, most or 2 * size)


_STAGE = "Writing community reports"
_Community = dict[str, Any]
_Packed = tuple[_Community, PackedContext]


def build_reports(
    tables: Tables,
    *,
    writer: ReportWriter,
    tokens: TokenCounter,
    context_tokens: int,
    context_share: float,
    kept: Mapping[str, AdoptedReport] = MappingProxyType({}),
    basis: str = "",
    earlier: Mapping[str, EarlierReport] = MappingProxyType({}),
    at_once: int | None = None,
    only: Iterable[str] | None = None,
    expect: Callable[[int], None] = lambda _: None,
    give_up: Callable[[], None] = lambda: None,
    release: Callable[[], None] = lambda: None,
) -> ReportFrames:
    """Write one report per community, none of which waits longer than it must.

    First comes every community whose elements all fit: its report depends on no other. A context that is too
    large is packed again with the reports of its sub-communities, as soon as all of those are written, while
    others still are. Citations of a report are left out of the context above, since they point into another
    context.

    Args:
        tables: those that reports are written from.
        writer: writes the reports.
        tokens: counts tokens.
        context_tokens: most tokens of a packed context.
        context_share: of these, most that the section of the context nodes takes.
        kept: reports that stay as they are, by the id of their community.
        basis: what decides reports beside these tables, such as the model and the code.
        earlier: reports that are taken over where nothing has changed, by what they were written from.
        at_once: most requests that are made before others are written; None for as many as there are, which
            is what a model is best asked with.
        only: the communities that a report is written of; None for all. Those kept stay in any case.
        expect: is told how many reports are to be written.
        give_up: ends what the writer is doing, where an error ends all.
        release: called where nothing of ``tables`` is read any more, and again where what was made of them is
            let go of.

    Raises:
        EngineError: the writer did not return one report per request.
    """
    elements, communities = index_elements(tables, tokens.counts_of_lines), tables[COMMUNITIES]
    numbers: dict[RecordKind, Mapping[str, int]] = {
        "entity": _numbers(tables[ENTITIES], "entity_id"),
        "relationship": _numbers(tables[RELATIONSHIPS], "relationship_id"),
        "claim": _numbers(tables[MERGED_CLAIMS], "claim_id"),
        "report": _numbers(communities, "community_id"),
    }
    lengths = dict(tables[TEXT_CHUNKS].select("text_unit_id", pl.col("text").str.len_chars()).iter_rows())
    attached = attached_nodes(tables[CONTEXT_NODES], communities, elements)
    behind = ContextNodes(attached, elements, tokens.count, context_tokens, context_share)
    packer = Packer(elements, tokens.count, context_tokens, behind, rows_add_up=tokens.lines_add_up)
    # What came with a graph stands in for nothing, and what is above it is written from it.
    hashes = {} if kept else fingerprints(basis, elements, attached, tables)
    rows = ReportRows(References(numbers, lengths), tokens.count, hashes)
    wanted = communities if only is None else communities.filter(pl.col("community_id").is_in(list(only)))
    ids = set(wanted["community_id"])
    found = {name: earlier[one] for name, one in hashes.items() if one in earlier and name in ids}
    missing = wanted.filter(~pl.col("community_id").is_in([*found, *kept]))
    concerned = missing["community_id"] if found or kept else None
    evidence = once(partial(_find_evidence, tables, numbers, elements, attached, concerned, release))
    largest = int(communities.select(pl.max("summed_degree").fill_null(0)).item()) or 1
    below = _store_known_reports(communities, rows, kept, found, largest)
    waiting = by_urgency(missing.iter_rows(named=True), elements, context_tokens)
    expect(len(waiting))
    waves: Waves[_Packed] = Waves(writer, give_up)
    _write_all(waiting, elements, packer, evidence, waves, rows, below, largest, at_once)
    # As large as the frames of all reports.
    del elements, attached, behind, packer, waves, evidence
    release()
    return rows.frames()


def _find_evidence(
    tables: Tables,
    numbers: Mapping[RecordKind, Mapping[str, int]],
    elements: Elements,
    attached: Mapping[str, Sequence[Attached]],
    communities: Iterable[str] | None,
    release: Callable[[], None],
) -> EvidenceIndex:
    """Return the evidence for the reports of some communities, None for all, and release the tables."""
    names = None if communities is None else _shown_names(elements, attached, communities)
    found = EvidenceIndex(tables, numbers, names)
    release()
    return found


def _shown_names(
    elements: Elements, attached: Mapping[str, Sequence[Attached]], communities: Iterable[str]
) -> set[str]:
    """Return the names of all entities that contexts of some communities may show."""
    places: set[int] = set()
    for name in communities:
        places.update(elements.communities[name].members.tolist())
        places.update(node.entity for node in attached.get(name, ()))
    return set(elements.names.gather(sorted(places)))


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
    left = {community["community_id"] for community in communities}

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
                yield _pack_contexts(community, elements, packer, below)

    def begin(batch: Iterable[_Packed]) -> None:
        waves.begin(
            [(one, _request(one[1], evidence, below, one[0]["summed_degree"] / largest)) for one in batch]
        )

    def take(written: Iterable[tuple[_Packed, WrittenReport]]) -> None:
        for (community, context), report in written:
            name, above = community["community_id"], community["parent_id"]
            left.discard(name)
            unwritten[above] -= 1
            _keep_for_above(below, report, name, above if above in left else None, elements)
            if not unwritten[above] and (parent := waiting.pop(above, None)):
                begin([_pack_contexts(parent, elements, packer, below)])
            rows.add(community, context, report)
            running.advance()

    with stage(_STAGE, len(communities)) as running, waves:
        for some in doubling_batches(communities, at_once):
            begin(packed_first(some))
            take(waves.results(at_once))
        take(waves.results())


def _keep_for_above(
    below: dict[str, WrittenReport], report: WrittenReport, name: str, above: str | None, elements: Elements
) -> None:
    """Keep a report at hand for the one above, if that is still to be written; those below it were for it."""
    for child in elements.communities[name].children:
        below.pop(child, None)
    if above is not None:
        below[name] = report


def _pack_contexts(
    community: _Community, elements: Elements, packer: Packer, below: Mapping[str, WrittenReport]
) -> _Packed:
    name = community["community_id"]
    children = elements.communities[name].children
    return community, packer.pack(name, {one: _child_report(below[one]) for one in children if one in below})


def _store_known_reports(
    communities: pl.DataFrame,
    rows: ReportRows,
    kept: Mapping[str, AdoptedReport],
    found: Mapping[str, EarlierReport],
    largest: int,
) -> dict[str, WrittenReport]:
    """Store the reports that are there already; return them by the ids of their communities."""
    below = {name: one.written() for name, one in kept.items()}
    for community in _communities_in(communities, kept):
        rows.keep(community, kept[community["community_id"]])
    for community in _communities_in(communities, found):
        name = community["community_id"]
        below[name] = found[name].with_prominence(community["summed_degree"] / largest)
        rows.take_over(community, found[name], below[name])
    return below


def _communities_in(communities: pl.DataFrame, names: Iterable[str]) -> Iterator[_Community]:
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
        evidence=AsRead(_supporting_sentences(context, evidence, below)),
        prominence=prominence,
        context_nodes=context.context_nodes,
        context_evidence=AsRead(_context_node_sentences(context, evidence)),
    )


def _supporting_sentences(
    context: PackedContext, evidence: Callable[[], EvidenceIndex], below: Mapping[str, WrittenReport]
) -> Iterator[SupportingSentence]:
    children = [below[child] for child in context.ids["report"]]
    quoted = (
        quote
        for child in children
        for quotes in (child.quotes, *(finding.quotes for finding in child.findings))
        for quote in quotes
    )
    yield from evidence().of(context, quoted)


def _context_node_sentences(
    context: PackedContext, evidence: Callable[[], EvidenceIndex]
) -> Iterator[SupportingSentence]:
    if context.context_nodes:
        yield from evidence().of_context_nodes(context)


def _child_report(report: WrittenReport) -> ChildReport:
    title, summary = one_line(report.title), without_citations(report.summary)
    findings = [(one_line(one.summary), without_citations(one.explanation)) for one in report.findings]
    return ChildReport(title, summary, markdown(title, summary, findings))


def _numbers(frame: pl.DataFrame, column: str) -> dict[str, int]:
    return dict(frame.select(column, "human_readable_id").iter_rows())
