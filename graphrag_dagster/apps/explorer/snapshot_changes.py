"""What differs between two snapshots of a corpus, and what an index changed."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError

from graphrag_dagster.apps.explorer.open_snapshots import (
    OpenSnapshot,
    Snapshot,
    open_two,
    snapshot_of,
    source_of,
    unpublished_error,
)
from graphrag_dagster.errors import MissingError
from graphrag_dagster.kernel.common.atomic_files import write_durably
from graphrag_dagster.kernel.storage.published import Published, published, snapshots
from graphrag_dagster.kernel.storage.published.derived_files import CHANGES
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.table_declaration import Table

_MOST = 100
_OLDER, _NEWER = "snapshot_before", "snapshot_after"


@dataclass(frozen=True, slots=True)
class Difference:
    """A row that came, went or changed.

    Attributes:
        id: of the entity, community, report or document; of what went, as it was.
        title: what it is called.
        what: of what changed, what differs, such as ``degree 3 → 5``, or ``degree`` where the older snapshot
            is gone; empty of others.
    """

    id: str
    title: str
    what: list[str]


@dataclass(frozen=True, slots=True)
class Differences:
    """Rows that came, went or changed: at most 100 of each, and how many there are.

    None that went are listed where the older snapshot is gone.
    """

    came: list[Difference]
    went: list[Difference]
    changed: list[Difference]
    came_total: int
    went_total: int
    changed_total: int


@dataclass(frozen=True, slots=True)
class DifferenceCounts:
    """How many rows came, went or changed."""

    came_total: int
    went_total: int
    changed_total: int


@dataclass(frozen=True, slots=True)
class Changes:
    """What differs between two snapshots.

    Attributes:
        before: the older.
        after: the newer.
        entities: by id, those of the highest degree first.
        communities: by id, which is kept while most members stay; the largest first.
        reports: by id of their community, the most important first.
        documents: by path and row; the longest first.
        relationships: how many, by their two ends.
    """

    before: Snapshot
    after: Snapshot
    entities: Differences
    communities: Differences
    reports: Differences
    documents: Differences
    relationships: DifferenceCounts


@dataclass(frozen=True, slots=True)
class Compared:
    """How rows of a table are compared.

    Attributes:
        table: whose rows.
        key: what the same row has in both.
        identity: the column with its id.
        title: what it is called, as SQL over ``{}``, the alias.
        told: columns that are told with their values, by name.
        named: columns that are only named where they differ.
        weight: column by which the most important come first.
    """

    table: Table
    key: tuple[str, ...]
    identity: str
    title: str
    told: Mapping[str, str]
    named: Mapping[str, str]
    weight: str


_ENTITIES = Compared(
    tables.ENTITIES,
    ("entity_id",),
    "entity_id",
    "{}.title",
    {"title": "title", "type": "type", "degree": "degree", "frequency": "text units"},
    {"description": "description", "names": "names"},
    "degree",
)
_COMMUNITIES = Compared(
    tables.COMMUNITIES,
    ("community_id",),
    "community_id",
    "coalesce({}_report.title, 'Community ' || {}.human_readable_id)",
    {"level": "level", "size": "members", "internal_edges": "relationships inside"},
    {"parent_id": "parent"},
    "size",
)
_REPORTS = Compared(
    tables.COMMUNITY_REPORTS,
    ("report_id",),
    "report_id",
    "{}.title",
    {"title": "title", "rating": "importance", "engine": "engine"},
    {"summary": "summary", "content": "text"},
    "rating",
)
_DOCUMENTS = Compared(
    tables.DOCUMENTS,
    ("path", "row"),
    "document_id",
    "{}.title",
    {"title": "title", "date": "date", "characters": "characters"},
    {"document_id": "text", "metadata": "metadata"},
    "characters",
)
_RELATIONSHIPS = Compared(
    tables.RELATIONSHIPS,
    ("relationship_id",),
    "relationship_id",
    "{}.source",
    {"weight": "weight"},
    {"description": "description"},
    "weight",
)


def pair_of(
    warehouse: Warehouse, corpus: str, before: str | None, after: str | None
) -> tuple[Published, Published]:
    """Return two snapshots to be compared.

    Args:
        warehouse: where they are.
        corpus: the corpus.
        before: version; default: the one published before the other.
        after: version; default: the current one.

    Raises:
        MissingError: there is no such snapshot, or none before.
        WarehouseError: nothing of the corpus has been published.
    """
    kept = snapshots(warehouse, corpus)
    current = published(warehouse, corpus)
    newer = _of_version(kept, after) if after is not None else current
    if newer is None:
        raise unpublished_error(corpus)
    if before is not None:
        return _of_version(kept, before), newer
    older = [one for one in kept if one.published < newer.published]
    if not older:
        raise MissingError(
            "snapshot",
            f"corpus {corpus!r} has no snapshot older than {newer.published[:19]}Z to compare with",
        )
    return older[0], newer


def changes(
    warehouse: Warehouse,
    corpus: str,
    before: str | None = None,
    after: str | None = None,
    *,
    of_older: bool = True,
) -> Changes:
    """Return what differs between two snapshots; further arguments and errors as of :func:`pair_of`.

    Args:
        warehouse: where they are.
        corpus: the corpus.
        before: version of the older.
        after: version of the newer.
        of_older: what stands in the older alone is told, too.

    Raises:
        WarehouseError: one of them is gone by now.
    """
    older, newer = pair_of(warehouse, corpus, before, after)
    current = published(warehouse, corpus)
    with open_two({_OLDER: older, _NEWER: newer}, corpus) as connection:
        both = _Both(OpenSnapshot(Reader(connection, corpus), newer), of_older=of_older)
        return Changes(
            before=snapshot_of(older, current),
            after=snapshot_of(newer, current),
            entities=both.differences(_ENTITIES),
            communities=both.differences(_COMMUNITIES),
            reports=both.differences(_REPORTS),
            documents=both.differences(_DOCUMENTS),
            relationships=DifferenceCounts(*both.counts(_RELATIONSHIPS)),
        )


class _Both:
    """Two snapshots over one connection."""

    def __init__(self, shown: OpenSnapshot, *, of_older: bool) -> None:
        self._shown = shown
        self._of_older = of_older

    def differences(self, compared: Compared) -> Differences:
        came, went, changed = self.counts(compared)
        return Differences(
            came=self._some(compared, "came") if came else [],
            went=self._some(compared, "went") if went and self._of_older else [],
            changed=self._some(compared, "changed") if changed else [],
            came_total=came,
            went_total=went,
            changed_total=changed,
        )

    def counts(self, compared: Compared) -> tuple[int, int, int]:
        found = self._shown.totals(
            f"""
            select count(*) filter (where state = 'came') as came,
                count(*) filter (where state = 'went') as went,
                count(*) filter (where state = 'changed') as changed
            from (select {_state(compared)} as state from {self._join_sql(compared)})
            """
        )
        return found["came"], found["went"], found["changed"]

    def _some(self, compared: Compared, state: str) -> list[Difference]:
        columns = ", ".join(
            f'a."{name}" is distinct from b."{name}" as "differs {name}", a."{name}" as "old {name}", '
            f'b."{name}" as "new {name}"'
            for name in compared.told
        )
        named = ", ".join(
            f'a."{name}" is distinct from b."{name}" as "differs {name}"' for name in compared.named
        )
        side = "a" if state == "went" else "b"
        title, joined = compared.title.replace("{}", side), ""
        if compared is _COMMUNITIES:
            reports = self._source(tables.COMMUNITY_REPORTS, _OLDER if side == "a" else _NEWER)
            joined = f"left join {reports} as {side}_report on {side}_report.report_id = {side}.community_id"
        found = self._shown.rows(
            f"""
            select {side}."{compared.identity}" as id, {title} as title, {columns}, {named}
            from {self._join_sql(compared)} {joined}
            where {_state(compared)} = $state
            order by {side}."{compared.weight}" desc, title, id limit {_MOST}
            """,
            state=state,
        )
        return [
            Difference(
                row["id"], row["title"], self._compared_columns(compared, row) if state == "changed" else []
            )
            for row in found
        ]

    def _compared_columns(self, compared: Compared, row: Mapping[str, object]) -> list[str]:
        differing = {
            name: f"{called} {_value(row[f'old {name}'])} → {_value(row[f'new {name}'])}"
            if self._of_older
            else called
            for name, called in compared.told.items()
        }
        told = {**differing, **compared.named}
        return [called for name, called in told.items() if row[f"differs {name}"]]

    def _join_sql(self, compared: Compared) -> str:
        on = " and ".join(f'a."{key}" is not distinct from b."{key}"' for key in compared.key)
        older, newer = self._source(compared.table, _OLDER), self._source(compared.table, _NEWER)
        a, b = (f"(select *, true as there from {one})" for one in (older, newer))
        return f"{a} as a full join {b} as b on {on}"

    def _source(self, table: Table, database: str) -> str:
        return source_of(self._shown.reader.connection, table, database)


def _state(compared: Compared) -> str:
    columns = (*compared.told, *compared.named)
    differs = " or ".join(f'a."{name}" is distinct from b."{name}"' for name in columns)
    return (
        f"case when a.there is null then 'came' when b.there is null then 'went' "
        f"when {differs} then 'changed' else 'same' end"
    )


def _value(value: object) -> str:
    if value is None:
        return "–"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 120 else text[:119] + "…"


def _of_version(kept: list[Published], version: str) -> Published:
    for one in kept:
        if one.version == version:
            return one
    there = ", ".join(one.version for one in kept)
    raise MissingError("snapshot", f"there is no snapshot {version!r}; there are {there or 'none'}")


_TOLD = TypeAdapter(Changes)


def record_changes(warehouse: Warehouse, corpus: str, before: Published, after: Published) -> None:
    """Note what differs between two snapshots of which the older is about to be deleted.

    Nothing is noted that stands in the older alone: of what went how many, of what changed in what respect.

    Raises:
        WarehouseError: one of the snapshots cannot be read.
        OSError: the note cannot be written.
    """
    told = changes(warehouse, corpus, before.version, after.version, of_older=False)
    place = CHANGES.place(after, after.version)
    place.parent.mkdir(exist_ok=True)
    write_durably(place, _TOLD.dump_json(told).decode())


def recorded_changes(
    warehouse: Warehouse, corpus: str, before: str | None = None, after: str | None = None
) -> Changes | None:
    """Return what was noted of the current snapshot and the one before it; None where that is not asked for.

    Args:
        warehouse: where the snapshots are.
        corpus: the corpus.
        before: version of the older; default: whichever it was.
        after: version of the newer; default: the current one.
    """
    current = published(warehouse, corpus)
    if current is None or after not in {None, current.version}:
        return None
    try:
        text = CHANGES.place(current, current.version).read_text(encoding="utf-8")
        told = _TOLD.validate_json(text)
    except (FileNotFoundError, ValidationError):
        # What a note of another form told is no more to be had.
        return None
    return told if before in {None, told.before.version} else None
