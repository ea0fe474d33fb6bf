"""The tables that a person may browse, and their columns."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from graphrag_dagster.apps.explorer.open_snapshots import OpenSnapshot
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.table_declaration import Column, Table
from graphrag_dagster.kernel.tables.usage_tables import MODEL_USAGE, RUN_USAGE
from graphrag_dagster.systems.graphrag.resolution.tables import DECISIONS
from graphrag_dagster.systems.graphrag.tables import QUARANTINE

ColumnType = Literal["text", "number", "boolean", "list"]
LinkKind = Literal["entity", "community", "document"]

_TYPES: Mapping[str, ColumnType] = MappingProxyType(
    {
        "VARCHAR": "text",
        "DATE": "text",
        "INTEGER": "number",
        "BIGINT": "number",
        "DOUBLE": "number",
        "BOOLEAN": "boolean",
        "VARCHAR[]": "list",
    }
)


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """A column of a view: a declared column of one of its tables, by the alias of that.

    ``name`` is what it is called in the view; blank: as declared. ``hidden`` columns hold ids to link to.
    """

    table: Table
    column: str
    alias: str = "t"
    name: str = ""
    hidden: bool = False

    @property
    def declaration(self) -> Column:
        """The declaration."""
        return self.table.column(self.column)

    @property
    def label(self) -> str:
        """What it is called in the view."""
        return self.name or self.column

    @property
    def type(self) -> ColumnType:
        """What its values are."""
        return _TYPES[self.declaration.type]

    @property
    def sql(self) -> str:
        """Its value."""
        value = f'{self.alias}."{self.column}"'
        return f"{value}::varchar" if self.declaration.type == "DATE" else value


@dataclass(frozen=True, slots=True)
class Joined:
    """A further table of a view, its alias, and the condition under which a row of it belongs to a row."""

    table: Table
    alias: str
    on: str


@dataclass(frozen=True, slots=True)
class View:
    """A table as a person looks through it.

    Attributes:
        name: by which it is asked for.
        title: for people.
        table: whose rows these are.
        columns: in order.
        joined: further tables, at most one row of each for a row.
        links: by column the kind of page that it leads to, and the column with the id.
        order: how rows are ordered where nothing else is asked for.
    """

    name: str
    title: str
    table: Table
    columns: tuple[ShownColumn, ...]
    joined: tuple[Joined, ...] = ()
    links: Mapping[str, tuple[LinkKind, str]] = field(default_factory=dict)
    order: str = ""

    def rows_sql(self, shown: OpenSnapshot) -> str:
        """Return a query of all rows with the columns of the view."""
        named = ", ".join(f'{one.sql} as "{one.label}"' for one in self.columns)
        joins = " ".join(f"left join {shown[one.table]} as {one.alias} on {one.on}" for one in self.joined)
        keys = ", ".join(f't."{key}" as "key {key}"' for key in self.table.key)
        return f"select {named}, {keys} from {shown[self.table]} as t {joins}"

    @property
    def key_order(self) -> str:
        """The order of the table's key, as SQL."""
        return ", ".join(f'"key {key}"' for key in self.table.key)


def _own_columns(table: Table, *columns: str) -> tuple[ShownColumn, ...]:
    return tuple(ShownColumn(table, column) for column in columns)


def _id(table: Table, column: str, alias: str = "t", name: str = "") -> ShownColumn:
    return ShownColumn(table, column, alias, name, hidden=True)


_NUMBER = "human_readable_id"
_BY_NUMBER = f'"{_NUMBER}"'
_DOCUMENT = Joined(tables.DOCUMENTS, "d", "d.document_id = t.document_id")
_OF_DOCUMENT = (
    ShownColumn(tables.DOCUMENTS, "title", "d", "document"),
    _id(tables.DOCUMENTS, "document_id", "d"),
)
_TO_DOCUMENT: Mapping[str, tuple[LinkKind, str]] = MappingProxyType({"document": ("document", "document_id")})
_UNIT = (
    Joined(tables.TEXT_CHUNKS, "u", "u.text_unit_id = t.text_unit_id"),
    Joined(tables.DOCUMENTS, "d", "d.document_id = u.document_id"),
)


def _ends(one: str, other: str) -> tuple[Joined, ...]:
    return tuple(
        Joined(tables.ENTITIES, alias, f"{alias}.entity_id = t.{end}_id")
        for alias, end in (("a", one), ("b", other))
    )


VIEWS = (
    View(
        "entities",
        "Entities",
        tables.ENTITIES,
        (
            _id(tables.ENTITIES, "entity_id"),
            *_own_columns(
                tables.ENTITIES, "title", "type", "degree", "frequency", "instances", "description", "names"
            ),
            *_own_columns(tables.ENTITIES, "description_engine", _NUMBER),
        ),
        links={"title": ("entity", "entity_id")},
        order="degree desc",
    ),
    View(
        "relationships",
        "Relationships",
        tables.RELATIONSHIPS,
        (
            *(_id(tables.RELATIONSHIPS, name) for name in ("relationship_id", "source_id", "target_id")),
            ShownColumn(tables.ENTITIES, "title", "a", "source"),
            ShownColumn(tables.ENTITIES, "title", "b", "target"),
            *_own_columns(
                tables.RELATIONSHIPS, "weight", "instances", "combined_degree", "description", _NUMBER
            ),
        ),
        _ends("source", "target"),
        {"source": ("entity", "source_id"), "target": ("entity", "target_id")},
        "weight desc",
    ),
    View(
        "triples",
        "Triples",
        tables.TRIPLES,
        (
            *(_id(tables.TRIPLES, name) for name in ("triple_id", "head_id", "tail_id")),
            ShownColumn(tables.ENTITIES, "title", "a", "head"),
            *_own_columns(tables.TRIPLES, "relation"),
            ShownColumn(tables.ENTITIES, "title", "b", "tail"),
            *_own_columns(tables.TRIPLES, "instances", "strength", _NUMBER),
        ),
        _ends("head", "tail"),
        {"head": ("entity", "head_id"), "tail": ("entity", "tail_id")},
        "instances desc",
    ),
    View(
        "claims",
        "Claims",
        tables.MERGED_CLAIMS,
        (
            *(_id(tables.MERGED_CLAIMS, "claim_id"), _id(tables.ENTITIES, "entity_id", "a", "subject_id")),
            *_own_columns(tables.MERGED_CLAIMS, "subject", "object", "type", "status", "description"),
            *_own_columns(tables.MERGED_CLAIMS, "start_date", "end_date", "instances", _NUMBER),
        ),
        (Joined(tables.ENTITIES, "a", "a.name = t.subject"),),
        {"subject": ("entity", "subject_id")},
        _BY_NUMBER,
    ),
    View(
        "communities",
        "Communities",
        tables.COMMUNITIES,
        (
            _id(tables.COMMUNITIES, "community_id"),
            ShownColumn(tables.COMMUNITY_REPORTS, "title", "r"),
            *_own_columns(tables.COMMUNITIES, "level", "size"),
            ShownColumn(tables.COMMUNITY_REPORTS, "rating", "r"),
            *_own_columns(tables.COMMUNITIES, "internal_edges", "summed_degree", "is_leaf"),
            ShownColumn(tables.COMMUNITY_REPORTS, "engine", "r"),
            ShownColumn(tables.COMMUNITY_REPORTS, "problem", "r"),
            *_own_columns(tables.COMMUNITIES, _NUMBER),
        ),
        (Joined(tables.COMMUNITY_REPORTS, "r", "r.report_id = t.community_id"),),
        {"title": ("community", "community_id")},
        "level, size desc",
    ),
    View(
        "documents",
        "Documents",
        tables.DOCUMENTS,
        (
            _id(tables.DOCUMENTS, "document_id"),
            *_own_columns(tables.DOCUMENTS, "title", "path", "row", "date", "characters"),
            ShownColumn(tables.FILES, "incomplete", "f"),
            ShownColumn(tables.FILES, "reason", "f"),
            *_own_columns(tables.DOCUMENTS, _NUMBER),
        ),
        (Joined(tables.FILES, "f", "f.path = t.path"),),
        links={"title": ("document", "document_id")},
        order=_BY_NUMBER,
    ),
    View(
        "files",
        "Files",
        tables.FILES,
        _own_columns(
            tables.FILES,
            *("path", "status", "incomplete", "reason", "duplicate_of"),
            *("format", "encoding", "bytes", "documents"),
        ),
        order="path",
    ),
    View(
        "metadata",
        "Metadata of documents",
        tables.DOCUMENT_METADATA,
        (*_OF_DOCUMENT, *_own_columns(tables.DOCUMENT_METADATA, "key", "type", "text", "number", "boolean")),
        (_DOCUMENT,),
        _TO_DOCUMENT,
    ),
    View(
        "periods",
        "Dates and periods of documents",
        tables.DOCUMENT_PERIODS,
        (
            *_OF_DOCUMENT,
            *_own_columns(
                tables.DOCUMENT_PERIODS,
                "period_start",
                "period_end",
                "form",
                "found_in",
                "words",
                "ambiguous",
            ),
        ),
        (_DOCUMENT,),
        _TO_DOCUMENT,
    ),
    View(
        "text_units",
        "Text units",
        tables.TEXT_CHUNKS,
        (
            *(*_OF_DOCUMENT, _id(tables.TEXT_CHUNKS, "text_unit_id")),
            *_own_columns(tables.TEXT_CHUNKS, "position", "start_char", "end_char", "tokens"),
            *(
                ShownColumn(tables.UNIT_LEDGER, name, "l")
                for name in ("state", "reason", "entities", "relationships", "claims", "quarantined")
            ),
            *_own_columns(tables.TEXT_CHUNKS, _NUMBER),
        ),
        (_DOCUMENT, Joined(tables.UNIT_LEDGER, "l", "l.text_unit_id = t.text_unit_id")),
        _TO_DOCUMENT,
        _BY_NUMBER,
    ),
    View(
        "quarantine",
        "Quarantined records",
        QUARANTINE,
        (*_OF_DOCUMENT, *_own_columns(QUARANTINE, "kind", "reason", "raw", "round", "engine")),
        _UNIT,
        _TO_DOCUMENT,
    ),
    View(
        "names",
        "Name decisions",
        DECISIONS,
        (
            *_OF_DOCUMENT,
            *_own_columns(
                DECISIONS, "one", "one_type", "other", "other_type", "verdict", "decided_by", "reason"
            ),
            *_own_columns(DECISIONS, "score", "who", "decided_at", "decision_id"),
        ),
        (_DOCUMENT,),
        _TO_DOCUMENT,
    ),
    View(
        "summary",
        "Corpus summary",
        tables.CORPUS_SUMMARY,
        _own_columns(tables.CORPUS_SUMMARY, "area", "measure", "value"),
    ),
    View(
        "context_sizes",
        "Context sizes",
        tables.CONTEXT_SIZES,
        _own_columns(tables.CONTEXT_SIZES, "condition", "units", "tokens", "percent_of_ts"),
    ),
    View(
        "runs",
        "Runs and their cost",
        RUN_USAGE,
        _own_columns(RUN_USAGE, *RUN_USAGE.column_names),
        order="begun desc",
    ),
    View(
        "models",
        "Model usage",
        MODEL_USAGE,
        _own_columns(MODEL_USAGE, *MODEL_USAGE.column_names),
        order="begun desc",
    ),
)
