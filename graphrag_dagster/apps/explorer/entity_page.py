"""An entity with its neighbours, communities, claims and mentions."""

from dataclasses import dataclass

from graphrag_dagster.apps.explorer.open_snapshots import OpenSnapshot
from graphrag_dagster.apps.explorer.text_search import Place, TextUnitSpan, known_places, places
from graphrag_dagster.errors import MissingError
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.systems.graphrag.resolution.tables import ALIASES
from graphrag_dagster.systems.graphrag.tables import GLEANED_ENTITIES


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
    """Return where an entity is named."""
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
    spans = [TextUnitSpan(row["text_unit_id"], row["start"], row["end"]) for row in found]
    return Mentions(total, offset, known_places(places(shown, spans)))


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
            from {shown[GLEANED_ENTITIES]} as g
            join {units} as u using (text_unit_id)
            left join {shown[ALIASES]} as a on a.document_id = u.document_id and a.name = g.name
            where coalesce(a.entity, g.name) = $name
        )
    """


_NEIGHBOURS, _CLAIMS, _MENTIONS = 100, 50, 20


@dataclass(frozen=True, slots=True)
class Neighbour:
    """An entity that is related to another.

    Attributes:
        entity_id: its id.
        title: its name.
        type: what it is.
        relationship_id: of the relationship between the two.
        weight: of the relationship.
        description: of the relationship.
    """

    entity_id: str
    title: str
    type: str
    relationship_id: str
    weight: float
    description: str


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Entities that are related to one, the heaviest relationships first; ``total`` of all."""

    total: int
    offset: int
    neighbours: list[Neighbour]


@dataclass(frozen=True, slots=True)
class EntityCommunity:
    """A community that an entity is a member of."""

    community_id: str
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class EntityClaim:
    """A claim that an entity is the subject or the object of; ``status`` is TRUE, FALSE or SUSPECTED."""

    claim_id: str
    type: str
    status: str
    description: str


@dataclass(frozen=True, slots=True)
class EntityPage:
    """An entity.

    Attributes:
        entity_id: its id.
        number: small number by which texts cite it.
        title: its commonest full name.
        name: the same, normalised.
        names: all spellings, the most frequent first.
        type: what it is.
        description: merged from what the texts say.
        description_engine: what merged it.
        degree: distinct neighbours.
        frequency: text units that mention it.
        instances: records of it that were extracted.
        documents: documents that mention it.
        neighbours: at most 100, the heaviest relationships first.
        neighbours_total: how many there are.
        communities: those that it is a member of, the coarsest first.
        claims: at most 50.
        claims_total: how many there are.
        mentions: the first 20 places that name it.
    """

    entity_id: str
    number: int
    title: str
    name: str
    names: list[str]
    type: str
    description: str
    description_engine: str
    degree: int
    frequency: int
    instances: int
    documents: int
    neighbours: list[Neighbour]
    neighbours_total: int
    communities: list[EntityCommunity]
    claims: list[EntityClaim]
    claims_total: int
    mentions: Mentions


def entity_page(shown: OpenSnapshot, entity_id: str) -> EntityPage:
    """Return an entity by id.

    Raises:
        MissingError: there is no such entity.
    """
    found = shown.row(
        f"""
        select entity_id, human_readable_id as number, title, name, names, type, description,
            description_engine, degree, frequency, instances
        from {shown[tables.ENTITIES]} where entity_id = $entity
        """,
        entity=entity_id,
    )
    if found is None:
        raise _missing(entity_id)
    documents = shown.totals(
        f"""
        select count(distinct u.document_id) as n
        from (
            select unnest(text_unit_ids) as text_unit_id
            from {shown[tables.ENTITIES]} where entity_id = $entity
        )
        join {shown[tables.TEXT_CHUNKS]} as u using (text_unit_id)
        """,
        entity=entity_id,
    )
    around = entity_neighbours(shown, entity_id, 0, _NEIGHBOURS)
    claims = shown.rows(
        f"""
        select claim_id, type, status, description, count(*) over () as total
        from {shown[tables.MERGED_CLAIMS]} where subject = $name or object = $name
        order by instances desc, human_readable_id limit {_CLAIMS}
        """,
        name=found["name"],
    )
    total = claims[0]["total"] if claims else 0
    return EntityPage(
        **found,
        documents=documents["n"],
        neighbours=around.neighbours,
        neighbours_total=around.total,
        communities=_communities(shown, entity_id),
        claims=[EntityClaim(*(row[key] for key in EntityClaim.__slots__)) for row in claims],
        claims_total=total,
        mentions=mentions(shown, found["name"], 0, _MENTIONS),
    )


def entity_mentions(shown: OpenSnapshot, entity_id: str, offset: int, limit: int) -> Mentions:
    """Return where an entity is named.

    Raises:
        MissingError: there is no such entity.
    """
    return mentions(shown, name_of(shown, entity_id), offset, limit)


def name_of(shown: OpenSnapshot, entity_id: str) -> str:
    """Return the normalised name of an entity.

    Raises:
        MissingError: there is no such entity.
    """
    found = shown.row(
        f"select name from {shown[tables.ENTITIES]} where entity_id = $entity", entity=entity_id
    )
    if found is None:
        raise _missing(entity_id)
    return str(found["name"])


def entity_neighbours(shown: OpenSnapshot, entity_id: str, offset: int, limit: int) -> Neighbours:
    """Return entities that are related to one, the heaviest relationships first.

    Raises:
        MissingError: there is no such entity.
    """
    related = f"""(
        select relationship_id, weight, description,
            case when source_id = $entity then target_id else source_id end as entity_id
        from {shown[tables.RELATIONSHIPS]} where source_id = $entity or target_id = $entity
    )"""
    total = shown.totals(f"select count(*) as n from {related}", entity=entity_id)["n"]
    if not total:
        name_of(shown, entity_id)
    found = shown.rows(
        f"""
        select e.entity_id, e.title, e.type, r.relationship_id, r.weight, r.description
        from {related} as r join {shown[tables.ENTITIES]} as e using (entity_id)
        order by r.weight desc, e.degree desc, e.title, e.entity_id limit $limit offset $offset
        """,
        entity=entity_id,
        limit=limit,
        offset=offset,
    )
    return Neighbours(total, offset, [Neighbour(**row) for row in found])


def _communities(shown: OpenSnapshot, entity_id: str) -> list[EntityCommunity]:
    found = shown.rows(
        f"""
        select m.community_id, c.level, coalesce(r.title, 'Community ' || c.human_readable_id) as title
        from {shown[tables.COMMUNITY_MEMBERS]} as m
        join {shown[tables.COMMUNITIES]} as c using (community_id)
        left join {shown[tables.COMMUNITY_REPORTS]} as r on r.report_id = m.community_id
        where m.entity_id = $entity order by c.level, m.community_id
        """,
        entity=entity_id,
    )
    return [EntityCommunity(**row) for row in found]


def _missing(entity_id: str) -> MissingError:
    return MissingError("entity", f"there is no entity {entity_id!r} in this corpus")
