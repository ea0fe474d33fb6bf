"""Writes what a corpus found of a graph onto the nodes of a graph server, and takes it away again."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from graphrag_dagster.apps.interchange.exporting.source import Source, opened
from graphrag_dagster.apps.interchange.settings import WriteBackSettings
from graphrag_dagster.apps.interchange.writers.node_properties import WRITING, NodeProperties
from graphrag_dagster.apps.interchange.writers.rows import Rows
from graphrag_dagster.apps.interchange.writing_back.survey import Survey, stamp_of, stamps_of, surveyed
from graphrag_dagster.apps.interchange.writing_back.targets import server_for, target_of
from graphrag_dagster.errors import EndpointError, ExportError
from graphrag_dagster.kernel.common.progress import stage
from graphrag_dagster.kernel.questions.context.queries import QueryError
from graphrag_dagster.kernel.storage.bolt import BoltGraph
from graphrag_dagster.kernel.storage.corpora import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse

_Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class WrittenBack:
    """What was written back, or would be.

    Attributes:
        corpus: whose communities they are.
        place: host and port of the server.
        stamp: that the nodes have: corpus, snapshot and level.
        properties: names of what is written, in their order.
        nodes: that the corpus has.
        written: nodes that were written, or would be.
        already: nodes that had it all.
        cleared: nodes that had properties of this corpus, and are no nodes of it any more.
        apart: nodes of the corpus that are in no community.
        gone: nodes of the corpus that are not on the server.
        changed: nodes that lost the label that they came with; they were left alone.
        unknown: nodes of the server that the corpus has not.
        dry: nothing was written.
    """

    corpus: str
    place: str
    stamp: str
    properties: tuple[str, ...]
    nodes: int
    written: int
    already: int
    cleared: int
    apart: int
    gone: int
    changed: int
    unknown: int
    dry: bool

    @property
    def differs(self) -> bool:
        """Whether the graph of the server is another than the corpus was made of."""
        return bool(self.gone or self.changed or self.unknown)


def write_back(
    corpus: str, *, level: int | None = None, dry_run: bool = False, warehouse: Warehouse | None = None
) -> WrittenBack:
    """Write the communities of each node, and what they are about, onto the nodes of a graph server.

    These are its communities, those that it is a context node of, and the summary of a report. Only
    properties with the prefix of the settings are written, and nodes that have them already are left alone:
    doing it again changes nothing, and after an interruption it goes on (spec_context_leiden §6).

    Args:
        corpus: one that was taken in from a graph server, or whose export is in one.
        level: k of Ck; default: ``write_back.level``.
        dry_run: look at the server, and write nothing.
        warehouse: where the tables are; default: as the environment says.

    Raises:
        CorpusError: there is no such corpus.
        SettingsError: its settings cannot be used.
        WarehouseError: nothing of it has been published.
        ExportError: the settings name no server, the corpus has no such level, or names are taken there.
        EngineError: the extra ``neo4j`` is not installed.
        EndpointError: the server cannot be reached, refuses the login, or goes away; says how far it went.
        QueryError: the server refuses a query.
    """
    settings = CorpusStore().settings(corpus)
    own = settings.section(WriteBackSettings)
    chosen = own.level if level is None else level
    ours = NodeProperties(own.prefix)
    with opened(warehouse or Warehouse(), corpus) as source:
        target = target_of(source, settings)
        rows = values_of(source, target.keys, chosen, summaries=own.summaries)
        parts = (source.snapshot.version, f"C{chosen}", *(() if own.summaries else ("no summaries",)))
        stamp = stamp_of(corpus, *parts)
        known, apart = _known(rows)
        with BoltGraph(target.server) as graph:
            there = graph.stream(ours.looking(target.label, target.key))
            survey = surveyed(there, known, corpus, stamp)
            due, stale = survey.nodes_due, len(survey.stale)
            written, cleared = due, stale
            if not dry_run:
                written = _in_batches(graph, _written(rows, survey, ours, stamp), due, own.batch)
                cleared = _in_batches(graph, _nothing(survey.stale, ours), stale, own.batch)
    return WrittenBack(
        corpus=corpus,
        place=target.server.place,
        stamp=stamp,
        properties=tuple(ours.nothing()),
        nodes=len(known),
        written=written,
        already=survey.already,
        cleared=cleared,
        apart=apart,
        gone=survey.gone + due - written,
        changed=survey.changed,
        unknown=survey.unknown,
        dry=dry_run,
    )


@dataclass(frozen=True, slots=True)
class TakenAway:
    """What was taken away: of which corpus, where, and from how many nodes; ``dry``: from none yet."""

    corpus: str
    place: str
    nodes: int
    dry: bool


def take_away(corpus: str, *, dry_run: bool = False) -> TakenAway:
    """Take away all properties that were written back of a corpus; raises as :func:`write_back`.

    Args:
        corpus: the corpus.
        dry_run: look at the server, and take nothing away.
    """
    settings = CorpusStore().settings(corpus)
    server = server_for(settings, corpus)
    ours = NodeProperties(settings.section(WriteBackSettings).prefix)
    with BoltGraph(server) as graph:
        there = graph.stream(ours.looking_for_stamps(), {"of": stamps_of(corpus)})
        elements = [node["element"] for node in there]
        nodes = len(elements)
        if not dry_run:
            nodes = _in_batches(
                graph, _nothing(elements, ours), nodes, settings.section(WriteBackSettings).batch
            )
    return TakenAway(corpus, server.place, nodes, dry_run)


def _known(rows: Rows) -> tuple[dict[str, str | None], int]:
    """The keys of all nodes with their labels, and how many are in no community."""
    known: dict[str, str | None] = {}
    apart = 0
    for frame in rows.frames():
        known.update(frame.select("key", "label").iter_rows())
        apart += frame["communities"].null_count()
    return known, apart


def _written(rows: Rows, survey: Survey, ours: NodeProperties, stamp: str) -> Iterator[_Row]:
    for frame in rows.frames():
        for row in frame.iter_rows(named=True):
            for element in survey.due.get(row["key"], ()):
                yield {"element": element, "properties": ours.of(row, stamp)}


def _nothing(elements: Iterable[str], ours: NodeProperties) -> Iterator[_Row]:
    return ({"element": element, "properties": ours.nothing()} for element in elements)


def _in_batches(graph: BoltGraph, rows: Iterator[_Row], total: int, size: int) -> int:
    """Write rows, so many in a transaction; returns how many nodes of them were there."""
    written = 0
    with stage("Writing back", total) as running:
        while some := list(islice(rows, size)):
            try:
                told = graph.write(WRITING, {"rows": some})
            except (EndpointError, QueryError) as error:
                raise type(error)(
                    f"{error}; {written:,} of {total:,} nodes were done and stay so: run it again to go on"
                ) from error
            written += sum(row["nodes"] for row in told)
            running.advance(len(some))
    return written


_VALUES = """
    with placed as (
        select
            entity_id,
            list(community_id order by level) as communities,
            any_value(community_id) filter (level = {level}) as community
        from graph_community_levels
        group by entity_id
    ),
    attached as (
        select entity_id, list(community_id order by level, community_id) as context_of
        from (
            select entity_id, community_id, min(level) as level
            from graph_context_nodes
            group by entity_id, community_id
        )
        group by entity_id
    )
    select
        k.key, k.label, p.community, p.communities, a.context_of,
        {summary} as summary
    from ({keys}) as k
    left join graph_entities as e on e.name = k.name
    left join placed as p on p.entity_id = e.entity_id
    left join attached as a on a.entity_id = e.entity_id
    left join reports_community_reports as r on r.report_id = p.community
    order by k.key
"""


def values_of(source: Source, keys: str, level: int, *, summaries: bool) -> Rows:
    """Return ``key`` and ``label`` of each node, and what is written of it; null where there is nothing.

    A community that several levels share is the last of its node's ``communities`` as often; ``context_of``
    has each community once, those of the coarsest level first.

    Args:
        source: the snapshot.
        keys: query for the nodes; see :class:`.Target`.
        level: k of Ck.
        summaries: whether they are written.

    Raises:
        ExportError: the corpus has no such level.
    """
    deepest = source.value("select max(level) from graph_community_levels")
    if deepest is None:
        raise ExportError(f"corpus {source.corpus!r} has no communities, so that there is nothing to write")
    if level > deepest:
        raise ExportError(f"corpus {source.corpus!r} has the levels C0 to C{deepest}, but no C{level}")
    summary = "nullif(r.summary, '')" if summaries else "null::varchar"
    return source.rows(_VALUES.format(level=level, keys=keys, summary=summary))
