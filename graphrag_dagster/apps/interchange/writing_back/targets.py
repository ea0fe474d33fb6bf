"""Where a corpus is written back to: a server, its nodes, and which of them an entity is."""

from dataclasses import dataclass

from graphrag_dagster.apps.interchange.exporting.graphs import graph_of_nodes
from graphrag_dagster.apps.interchange.exporting.source import Source
from graphrag_dagster.apps.interchange.readers.rows import UNKNOWN_TYPE
from graphrag_dagster.apps.interchange.settings import ImportServer, ImportSettings, WriteBackSettings
from graphrag_dagster.apps.interchange.writers.neo4j import identifier
from graphrag_dagster.errors import ExportError
from graphrag_dagster.kernel.documents.imported import SERVER
from graphrag_dagster.kernel.settings.corpus import CorpusSettings
from graphrag_dagster.kernel.settings.server import ServerSettings
from graphrag_dagster.kernel.storage.bolt import BoltServer, server_of

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


def target_of(source: Source, settings: CorpusSettings) -> Target:
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
