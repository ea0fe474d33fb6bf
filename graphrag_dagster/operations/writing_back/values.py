"""What is written of each node: its communities, those it is a context node of, and a summary."""

from graphrag_dagster.core.exporting.rows import Rows
from graphrag_dagster.errors import ExportError
from graphrag_dagster.operations.exporting.source import Source

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
