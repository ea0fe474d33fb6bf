"""The steps of a row's lineage, and the rows that lineage reads."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import duckdb
import polars as pl

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.catalogue.registry import load_target, systems
from graphrag_dagster.kernel.storage.duckdb_access import frame_of
from graphrag_dagster.kernel.storage.warehouse import Reader, qualified
from graphrag_dagster.kernel.tables.declared_tables import declared_table
from graphrag_dagster.kernel.text.evidence import Evidence, Passage, Words, passages_of


@dataclass(frozen=True, slots=True)
class LineageRows:
    """Rows of one corpus's tables, by full name ``schema.table``, over an open connection.

    A table that was never made has no rows.
    """

    reader: Reader

    def all(self, table: str, columns: Sequence[str], /) -> pl.DataFrame:
        """Return columns of all rows, in key order."""
        return self._select(table, columns, "")

    def of(
        self, table: str, column: str, values: Iterable[str], columns: Sequence[str] = (), /
    ) -> pl.DataFrame:
        """Return the rows whose column has one of the values, or a list with one of them, in key order.

        Columns: the given ones, default all.
        """
        keys = pl.Series("value", values, dtype=pl.String)
        if keys.is_empty():
            return self._empty(table, columns)
        self.reader.connection.register("wanted", keys.to_frame().to_arrow())
        try:
            is_list = declared_table(table).column(column).type.endswith("[]")
            among = f'"{column}" in (select value from wanted)'
            if is_list:
                # A join; list_has_any would go through all values once for each row.
                among = (
                    f'exists (select 1 from (select unnest("{column}") as one) where one in (from wanted))'
                )
            return self._select(table, columns, f"and {among}")
        finally:
            self.reader.connection.unregister("wanted")

    def count(self, table: str, /) -> int:
        """Return the number of rows."""
        declared = declared_table(table)
        return self.reader.counts([declared])[declared] if self.reader.has(declared) else 0

    def _select(self, table: str, columns: Sequence[str], condition: str) -> pl.DataFrame:
        declared = declared_table(table)
        if not self.reader.has(declared):
            return self._empty(table, columns)
        names = ", ".join(f'"{name}"' for name in dict.fromkeys(columns or declared.column_names))
        keys = ", ".join(f'"{key}"' for key in declared.key)
        try:
            return frame_of(
                self.reader.connection,
                f"select {names} from {qualified(declared)} where corpus = ? {condition} order by {keys}",
                [self.reader.corpus],
            )
        except duckdb.BinderException as error:
            raise WarehouseError(
                f"{table} of corpus {self.reader.corpus!r} lacks a column; run "
                f"'graphrag-dagster index {self.reader.corpus}'"
            ) from error

    def _empty(self, table: str, columns: Sequence[str]) -> pl.DataFrame:
        empty = declared_table(table).empty()
        return empty.select(list(dict.fromkeys(columns))) if columns else empty


@dataclass(frozen=True, slots=True)
class LineageStep:
    """A row with its text, its evidence and the rows it was made from.

    ``facts`` are other columns of the row; ``left_out`` counts the source rows that are missing from
    ``steps``.
    """

    kind: str
    id: str
    title: str
    text: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[Evidence, ...] = ()
    steps: tuple["LineageStep", ...] = ()
    left_out: int = 0

    def all_evidence(self) -> Iterator[Evidence]:
        """Yield the evidence of this row and of all rows below."""
        yield from self.evidence
        for step in self.steps:
            yield from step.all_evidence()

    def to_dict(self) -> dict[str, Any]:
        """Return the row and all rows below as JSON-compatible values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class SystemLineage:
    """Lineage of a system's own kind of rows.

    Attributes:
        kind: name of the kind for users.
        table: full name of their table.
        columns: ``id``, ``number``, ``label`` and ``name``, for look-up.
        step: returns the lineage of one row, given the tables, its id, and the most rows below it.
        affected: returns the rows affected by deleted triples and entities.
    """

    kind: str
    table: str
    columns: Mapping[str, pl.Expr]
    step: Callable[[LineageRows, str, int | None], LineageStep]
    affected: Callable[[LineageRows, pl.DataFrame, pl.Series], pl.DataFrame]

    @property
    def key(self) -> str:
        """The id column."""
        (name,) = self.columns["id"].meta.root_names()
        return name


def lineages() -> Sequence[SystemLineage]:
    """Return the lineages that systems declare."""
    return [load_target(system.lineage) for system in systems().values() if system.lineage]


_TITLES = {
    "entity": ("graph.entities", "entity_id", pl.col("title")),
    "relationship": ("graph.relationships", "relationship_id", pl.format("{} – {}", "source", "target")),
    "claim": ("graph.claims", "claim_id", pl.col("description")),
    "triple": ("graph.triples", "triple_id", pl.format("{} {} {}", "head", "relation", "tail")),
    "report": ("reports.community_reports", "report_id", pl.col("title")),
}


def titles_of(rows: LineageRows, named: pl.DataFrame) -> Mapping[str, str]:
    """Return the titles of rows by id, for kinds that have titles.

    Args:
        rows: the tables.
        named: ``kind`` and ``id`` of each row.
    """
    titles: dict[str, str] = {}
    of_systems = {own.kind: (own.table, own.key, own.columns["label"]) for own in lineages()}
    for kind, (table, key, title) in {**_TITLES, **of_systems}.items():
        ids = named.filter(pl.col("kind") == kind)["id"].unique()
        columns = [key, *title.meta.root_names()]
        titles |= dict(rows.of(table, key, ids, columns).select(key, label=title).iter_rows())
    return titles


_UNITS = "corpus.text_chunks"
_COLUMNS = ("text_unit_id", "human_readable_id", "document_id", "start_char", "text")


def units_of(rows: LineageRows, ids: Iterable[str]) -> Mapping[str, Passage]:
    """Return text units by id."""
    chunks = rows.of(_UNITS, "text_unit_id", ids, _COLUMNS)
    documents = rows.of(
        "corpus.documents",
        "document_id",
        chunks["document_id"].unique(),
        ("document_id", "title", "path", "row"),
    )
    return passages_of(chunks, documents)


def unit_step(unit: Passage, words: tuple[Words, ...]) -> LineageStep:
    """Return a text unit with quoted words."""
    facts = {
        "human_readable_id": unit.human_readable_id,
        "document_id": unit.document_id,
        "document_title": unit.document_title,
        "start_char": unit.start_char,
        "end_char": unit.end_char,
    }
    return LineageStep("text_unit", unit.text_unit_id, unit.path, facts=facts, evidence=words)


def in_corpus_order(rows: LineageRows, records: pl.DataFrame) -> pl.DataFrame:
    """Return records with ``text_unit_id``, ``round`` and ``position`` in corpus order."""
    order = rows.of(
        _UNITS, "text_unit_id", records["text_unit_id"].unique(), ("text_unit_id", "human_readable_id")
    ).rename({"human_readable_id": "_unit"})
    return records.join(order, on="text_unit_id").sort("_unit", "round", "position").drop("_unit")
