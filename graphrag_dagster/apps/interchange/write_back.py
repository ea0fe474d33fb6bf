"""Writes what a corpus found of a graph onto the nodes of a graph server, and removes it again."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from graphrag_dagster.apps.bolt_client import BoltGraph, BoltServer, server_of
from graphrag_dagster.apps.interchange.exporting.export_rows import RowBatches
from graphrag_dagster.apps.interchange.exporting.export_source import ExportSource, open_source
from graphrag_dagster.apps.interchange.exporting.exported_graphs import graph_of_nodes
from graphrag_dagster.apps.interchange.exporting.neo4j_writer import identifier
from graphrag_dagster.apps.interchange.graph_rows.table_rows import UNKNOWN_TYPE
from graphrag_dagster.apps.interchange.node_properties import WRITING, NodeProperties
from graphrag_dagster.apps.interchange.settings import ImportServer, ImportSettings, WriteBackSettings
from graphrag_dagster.errors import EndpointError, ExportError, QueryError
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.common.progress import stage
from graphrag_dagster.kernel.documents.imported_texts import SERVER
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.section import ServerSettings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.warehouse import Warehouse

#: Stands between the parts of a stamp, of which the first is the corpus; no name of a corpus has it.
_BETWEEN = "/"


@dataclass(slots=True)
class Survey:
    """What a server has.

    Attributes:
        due: element ids of the nodes to be written, by key.
        stale: element ids of nodes that were written to before, and are none of the corpus any more.
        already: nodes that have what they are to have.
        changed: nodes that have lost the label that they came with.
        unknown: nodes that the corpus has not.
        gone: nodes of the corpus that are not there.
    """

    due: dict[str, list[str]] = field(default_factory=dict)
    stale: list[str] = field(default_factory=list)
    already: int = 0
    changed: int = 0
    unknown: int = 0
    gone: int = 0

    @property
    def nodes_due(self) -> int:
        """How many nodes are to be written."""
        return sum(map(len, self.due.values()))


def survey_nodes(
    nodes: Iterable[Mapping[str, Any]], known: Mapping[str, str | None], corpus: str, stamp: str
) -> Survey:
    """Return what a server has, compared with what a corpus has.

    Args:
        nodes: of the server: ``key``, ``element``, ``labels``, ``stamp`` and ``taken``.
        known: key of each node of the corpus → the label that it has to have, None for any.
        corpus: its name.
        stamp: of the state that is to be written.

    Raises:
        ExportError: our names are taken there, or no node is one of the corpus.
    """
    found, survey = set[str](), Survey()
    others: Counter[str] = Counter()
    for node in nodes:
        key, element, given = node["key"], node["element"], node["stamp"]
        ours = isinstance(given, str) and given.startswith(corpus + _BETWEEN)
        if key not in known:
            survey.unknown += 1
            survey.stale += [element] if ours else []
            continue
        found.add(key)
        label = known[key]
        if label is not None and label not in node["labels"]:
            survey.changed += 1
            survey.stale += [element] if ours else []
        elif not ours and (given is not None or node["taken"]):
            others["" if given is None else str(given).partition(_BETWEEN)[0]] += 1
        elif given == stamp:
            survey.already += 1
        else:
            survey.due.setdefault(key, []).append(element)
    survey.gone = len(known) - len(found)
    _require(others, found)
    return survey


def _require(others: Mapping[str, int], found: set[str]) -> None:
    for other, nodes in sorted(others.items()):
        whose = (
            f"what corpus {other!r} wrote" if other else "properties of these names that nobody wrote back"
        )
        undo = f", or take that away (graphrag-dagster write-back {other} --remove)" if other else ""
        raise ExportError(
            f"{plural(nodes, 'node has', 'nodes have')} {whose}: set another write_back.prefix in "
            f"corpus.yaml{undo}"
        )
    if not found:
        raise ExportError(
            "no node of the server is one of the corpus: where imports.neo4j.nodes gives another key than "
            "the element id, name its property in write_back.key; where the graph was made anew, index it "
            "again"
        )


_ENTITY = "Entity"
_SERVED = f"(select path from imports_files where format = '{SERVER}')"
#: Of nodes that came from a server: what only relations name is a node there, too.
_CAME = f"""
    select key, min(name) as name, min(label) as label
    from (
        select key, name, nullif(type, '{UNKNOWN_TYPE}') as label, path from imports_entities
        union all
        select unnest([head_key, tail_key]), unnest([head, tail]), null, path from imports_relations
    )
    where path in {_SERVED}
    group by key
"""


@dataclass(frozen=True, slots=True)
class Target:
    """The nodes of a server that a corpus is written back to.

    Attributes:
        server: where they are.
        label: that all of them have; None: any.
        key: property that holds the key of an entity; None: the element id.
        keys: query for ``key``, ``name`` of the entity, and ``label``, which a node has to have; null: any.
    """

    server: BoltServer
    label: str | None
    key: str | None
    keys: str


def server_for(settings: CorpusSettings, corpus: str) -> BoltServer:
    """Return the server that a corpus is written back to.

    Raises:
        ExportError: the settings name none.
    """
    own, came = settings.section(WriteBackSettings), settings.section(ImportSettings).neo4j
    if own.uri:
        return server_of(own)
    if came.uri:
        names = set(ServerSettings.model_fields) & own.model_fields_set - {"uri"}
        return server_of(came.model_copy(update={name: getattr(own, name) for name in names}))
    raise ExportError(
        f"corpus {corpus!r} did not come from a graph server: give the one that it was exported to, such as "
        "write_back: {uri: 'bolt://localhost:7687'} in corpus.yaml"
    )


def target_of(source: ExportSource, settings: CorpusSettings) -> Target:
    """Return what a snapshot is written back to.

    Raises:
        ExportError: the settings name no server, or nothing of the snapshot came from the one they name.
    """
    server, own = server_for(settings, source.corpus), settings.section(WriteBackSettings)
    if settings.makes("imports") and settings.section(ImportSettings).neo4j.uri:
        if not source.value(f"select count(*) from {_SERVED}"):
            raise ExportError(
                f"nothing that is published of {source.corpus!r} came from the server of imports.neo4j: "
                f"index it again (graphrag-dagster index {source.corpus})"
            )
        usual = settings.section(ImportSettings).neo4j.nodes == ImportServer().nodes
        keys = _CAME if usual else f"select key, name, null as label from ({_CAME})"
        return Target(server, own.label, own.key, keys)
    (entities,) = (one for one in graph_of_nodes(source).nodes if one.kind == _ENTITY)
    keys = "select id as key, name, null as label from pg_nodes"
    return Target(server, own.label or _ENTITY, own.key or identifier(entities), keys)


_Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class WriteBackResult:
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
) -> WriteBackResult:
    """Write the communities of each node, and what they are about, onto the nodes of a graph server.

    These are its communities, those that it is a context node of, and the summary of a report. Only
    properties with the prefix of the settings are written, and nodes that have them already are left alone:
    doing it again changes nothing, and after an interruption it goes on.

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
    with open_source(warehouse or Warehouse(), corpus) as source:
        target = target_of(source, settings)
        rows = values_of(source, target.keys, chosen, summaries=own.summaries)
        parts = (source.snapshot.version, f"C{chosen}", *(() if own.summaries else ("no summaries",)))
        stamp = _BETWEEN.join([corpus, *parts])
        known, apart = _nodes_by_key(rows)
        with BoltGraph(target.server) as graph:
            there = graph.stream(ours.lookup_query(target.label, target.key))
            survey = survey_nodes(there, known, corpus, stamp)
            due, stale = survey.nodes_due, len(survey.stale)
            written, cleared = due, stale
            if not dry_run:
                written = _in_batches(graph, _written_rows(rows, survey, ours, stamp), due, own.batch)
                cleared = _in_batches(graph, _cleared_rows(survey.stale, ours), stale, own.batch)
    return WriteBackResult(
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
class RemovedProperties:
    """What was taken away: of which corpus, where, and from how many nodes; ``dry``: from none yet."""

    corpus: str
    place: str
    nodes: int
    dry: bool


def remove_properties(corpus: str, *, dry_run: bool = False) -> RemovedProperties:
    """Take away all properties that were written back of a corpus; raises as :func:`write_back`.

    Args:
        corpus: the corpus.
        dry_run: look at the server, and take nothing away.
    """
    settings = CorpusStore().settings(corpus)
    server = server_for(settings, corpus)
    ours = NodeProperties(settings.section(WriteBackSettings).prefix)
    with BoltGraph(server) as graph:
        there = graph.stream(ours.stamp_query(), {"of": corpus + _BETWEEN})
        elements = [node["element"] for node in there]
        nodes = len(elements)
        if not dry_run:
            nodes = _in_batches(
                graph, _cleared_rows(elements, ours), nodes, settings.section(WriteBackSettings).batch
            )
    return RemovedProperties(corpus, server.place, nodes, dry_run)


def _nodes_by_key(rows: RowBatches) -> tuple[dict[str, str | None], int]:
    """The keys of all nodes with their labels, and how many are in no community."""
    known: dict[str, str | None] = {}
    apart = 0
    for frame in rows.frames():
        known.update(frame.select("key", "label").iter_rows())
        apart += frame["communities"].null_count()
    return known, apart


def _written_rows(rows: RowBatches, survey: Survey, ours: NodeProperties, stamp: str) -> Iterator[_Row]:
    for frame in rows.frames():
        for row in frame.iter_rows(named=True):
            for element in survey.due.get(row["key"], ()):
                yield {"element": element, "properties": ours.of(row, stamp)}


def _cleared_rows(elements: Iterable[str], ours: NodeProperties) -> Iterator[_Row]:
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
            list(community_id order by level) filter (level >= 0) as communities,
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


def values_of(source: ExportSource, keys: str, level: int, *, summaries: bool) -> RowBatches:
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
