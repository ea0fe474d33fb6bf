"""A document with its text units and entities, and what depends on it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphrag_dagster.apps.explorer.open_snapshots import OpenSnapshot
from graphrag_dagster.errors import MissingError
from graphrag_dagster.kernel.lineage.impact import impact
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.systems.graphrag.resolution.tables import ALIASES
from graphrag_dagster.systems.graphrag.tables import GLEANED_ENTITIES

_UNITS, _ENTITIES = 500, 100


@dataclass(frozen=True, slots=True)
class DocumentUnit:
    """A text unit of a document.

    Attributes:
        text_unit_id: its id.
        position: place among the units of the document, 0….
        start_char: first character in the document's text.
        end_char: one past the last.
        tokens: its length.
        state: how extraction ended; null where nothing was extracted.
        entities: records of entities kept.
        relationships: records of relationships kept.
        claims: records of claims kept.
    """

    text_unit_id: str
    position: int
    start_char: int
    end_char: int
    tokens: int
    state: str | None
    entities: int
    relationships: int
    claims: int


@dataclass(frozen=True, slots=True)
class Units:
    """Text units of a document, in its order; ``total`` of all."""

    total: int
    offset: int
    units: list[DocumentUnit]


@dataclass(frozen=True, slots=True)
class DocumentEntity:
    """An entity that a document names; ``mentions`` counts the places."""

    entity_id: str
    title: str
    type: str
    mentions: int


@dataclass(frozen=True, slots=True)
class DocumentFile:
    """The file of a document.

    Attributes:
        status: what became of it.
        reason: why, or what was odd about it.
        incomplete: something in it is in no document; null for graphs.
        bytes: its size.
        format: its reader.
    """

    status: str
    reason: str | None
    incomplete: bool | None
    bytes: int
    format: str | None


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """A document.

    Attributes:
        document_id: its id.
        number: small number, 0….
        title: its title.
        path: of its file, below the corpus folder.
        row: in a table-like file, 0…; null in others.
        date: as the file gives it.
        characters: length of the text in code points.
        metadata: what else the file says of it.
        units: at most 500 text units, in its order.
        units_total: how many there are.
        entities: at most 100 that it names, the most often named first.
        entities_total: how many there are.
        file: what became of its file; null for documents that come from elsewhere.
    """

    document_id: str
    number: int
    title: str
    path: str
    row: int | None
    date: str | None
    characters: int
    metadata: dict[str, Any]
    units: list[DocumentUnit]
    units_total: int
    entities: list[DocumentEntity]
    entities_total: int
    file: DocumentFile | None


def document_page(shown: OpenSnapshot, document_id: str) -> DocumentPage:
    """Return a document by id.

    Raises:
        MissingError: there is no such document.
    """
    found = document_row(shown, document_id)
    file = shown.row(
        f"select status, reason, incomplete, bytes, format from {shown[tables.FILES]} where path = $path",
        path=found["path"],
    )
    entities = _entities(shown, document_id)
    units = document_units(shown, document_id, 0, _UNITS)
    return DocumentPage(
        **{**found, "metadata": json.loads(found["metadata"] or "{}")},
        units=units.units,
        units_total=units.total,
        entities=[DocumentEntity(*(row[key] for key in DocumentEntity.__slots__)) for row in entities],
        entities_total=entities[0]["total"] if entities else 0,
        file=DocumentFile(**file) if file else None,
    )


def document_row(shown: OpenSnapshot, document_id: str) -> Mapping[str, Any]:
    """Return what is known of a document but its text.

    Raises:
        MissingError: there is no such document.
    """
    found = shown.row(
        f"""
        select document_id, human_readable_id as number, title, path, "row", date, characters, metadata
        from {shown[tables.DOCUMENTS]} where document_id = $document
        """,
        document=document_id,
    )
    if found is None:
        raise MissingError("document", f"there is no document {document_id!r} in this corpus")
    return found


def document_units(shown: OpenSnapshot, document_id: str, offset: int, limit: int) -> Units:
    """Return text units of a document, in its order.

    Raises:
        MissingError: there is no such document.
    """
    document_row(shown, document_id)
    found = shown.rows(
        f"""
        select u.text_unit_id, u."position", u.start_char, u.end_char, u.tokens, l.state,
            coalesce(l.entities, 0) as entities, coalesce(l.relationships, 0) as relationships,
            coalesce(l.claims, 0) as claims
        from {shown[tables.TEXT_CHUNKS]} as u left join {shown[tables.UNIT_LEDGER]} as l using (text_unit_id)
        where u.document_id = $document order by u."position" limit $limit offset $offset
        """,
        document=document_id,
        limit=limit,
        offset=offset,
    )
    total = shown.totals(
        f"select count(*) as n from {shown[tables.TEXT_CHUNKS]} where document_id = $document",
        document=document_id,
    )
    return Units(total["n"], offset, [DocumentUnit(**row) for row in found])


def _entities(shown: OpenSnapshot, document_id: str) -> list[dict[str, Any]]:
    return shown.rows(
        f"""
        with named as (
            select coalesce(a.entity, g.name) as name, u.start_char, unnest(g.spans) as span
            from {shown[GLEANED_ENTITIES]} as g
            join {shown[tables.TEXT_CHUNKS]} as u using (text_unit_id)
            left join {shown[ALIASES]} as a on a.document_id = u.document_id and a.name = g.name
            where u.document_id = $document
        )
        select e.entity_id, e.title, e.type,
            count(distinct (start_char + span.start, start_char + span."end")) as mentions,
            count(*) over () as total
        from named join {shown[tables.ENTITIES]} as e using (name)
        group by e.entity_id, e.title, e.type
        order by mentions desc, e.title, e.entity_id limit {_ENTITIES}
        """,
        document=document_id,
    )


_MOST = 50
_FRAMES = ("entities", "relationships", "claims", "communities", "reports", "answers")


@dataclass(frozen=True, slots=True)
class DocumentImpact:
    """What would go or change without a document; the communities are taken to stay as they are.

    Attributes:
        document_id: of the document.
        counts: rows of each sort that go, change, or would be asked for again at most.
        totals: rows of the corpus by sort.
        copies: paths of files with the same content, which would take its place.
        entities: at most 50, those that go first; before and after.
        relationships: in the same way.
        claims: in the same way.
        communities: at most 50 that lose members.
        reports: at most 50 whose context shows what goes or changes.
        answers: at most 50 that cite it, or were shown what goes or changes.
        found: how many there are of each of these sorts.
    """

    document_id: str
    counts: dict[str, int]
    totals: dict[str, int]
    copies: list[str]
    entities: list[dict[str, Any]]
    relationships: list[dict[str, Any]]
    claims: list[dict[str, Any]]
    communities: list[dict[str, Any]]
    reports: list[dict[str, Any]]
    answers: list[dict[str, Any]]
    found: dict[str, int]


def document_impact(shown: OpenSnapshot, document_id: str) -> DocumentImpact:
    """Return what would be different without a document.

    Raises:
        MissingError: there is no such document.
    """
    document_row(shown, document_id)
    all_of_it = impact(shown.lineage, document_id)
    frames = {name: getattr(all_of_it, name) for name in _FRAMES}
    return DocumentImpact(
        document_id=document_id,
        counts=all_of_it.counts(),
        totals=dict(all_of_it.totals),
        copies=list(all_of_it.copies),
        **{name: frame.head(_MOST).to_dicts() for name, frame in frames.items()},
        found={name: frame.height for name, frame in frames.items()},
    )
