"""Where an entity is named."""

from dataclasses import dataclass

from graphrag_dagster.apps.explorer.documents.places import Place, Span, known, places
from graphrag_dagster.apps.explorer.snapshots.opened import OpenSnapshot
from graphrag_dagster.kernel import tables


@dataclass(frozen=True, slots=True)
class Mentions:
    """Where an entity is named, in the order of the corpus.

    Attributes:
        total: how many places there are.
        offset: how many of them come before the first of these.
        mentions: each in its sentence; of text units that mention it where no words are known, the beginning.
    """

    total: int
    offset: int
    mentions: list[Place]


def mentions(shown: OpenSnapshot, name: str, offset: int, limit: int) -> Mentions:
    """Return where an entity is named.

    Args:
        shown: the snapshot.
        name: normalised name of the entity.
        offset: how many places are passed over.
        limit: most places.
    """
    found = shown.rows(
        f"""
        with units as materialized (
            select u.text_unit_id, u.document_id, u.human_readable_id as number, u.start_char
            from (
                select unnest(text_unit_ids) as text_unit_id from {shown[tables.ENTITIES]} where name = $name
            )
            join {shown[tables.TEXT_CHUNKS]} as u using (text_unit_id)
        ), named as materialized ({named_sql(shown, "units")}), words as (
            select u.document_id, u.number, u.text_unit_id, n.start as start, n."end" as "end",
                row_number() over (
                    partition by u.document_id, u.start_char + n.start, u.start_char + n."end"
                    order by u.number
                ) as copy
            from named as n join units as u using (text_unit_id)
        ), all_places as (
            select number, text_unit_id, start, "end" from words where copy = 1
            union all
            select number, text_unit_id, 0, null from units
            where text_unit_id not in (select text_unit_id from named)
        )
        select text_unit_id, start, "end", count(*) over () as total
        from all_places order by number, start, "end" limit $limit offset $offset
        """,
        name=name,
        limit=limit,
        offset=offset,
    )
    total = found[0]["total"] if found else (mentions(shown, name, 0, 1).total if offset else 0)
    spans = [Span(row["text_unit_id"], row["start"], row["end"]) for row in found]
    return Mentions(total, offset, known(places(shown, spans)))


def named_sql(shown: OpenSnapshot, units: str) -> str:
    """Return a query of ``text_unit_id``, ``start`` and ``end``: where the entity ``$name`` stands in units.

    Args:
        shown: the snapshot.
        units: relation with ``text_unit_id`` and ``document_id``.
    """
    return f"""
        select text_unit_id, span.start as start, span."end" as "end"
        from (
            select g.text_unit_id, unnest(g.spans) as span
            from {shown[tables.GLEANED_ENTITIES]} as g
            join {units} as u using (text_unit_id)
            left join {shown[tables.ALIASES]} as a on a.document_id = u.document_id and a.name = g.name
            where coalesce(a.entity, g.name) = $name
        )
    """
