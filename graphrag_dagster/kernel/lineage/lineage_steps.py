"""The steps of a row's lineage, and the rows that lineage reads."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

import duckdb
import polars as pl

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.catalogue.registry import load_target, systems
from graphrag_dagster.kernel.storage import published
from graphrag_dagster.kernel.storage.duckdb_access import frame_of
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse, qualified
from graphrag_dagster.kernel.tables import core_tables as tables
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


@contextmanager
def open_rows(warehouse: Warehouse, corpus: str) -> Iterator[LineageRows]:
    """Open the tables of the published snapshot, or else of the working file.

    Raises:
        WarehouseError: the corpus has not been indexed, or its tables cannot be read.
    """
    with published.reading(warehouse, corpus) as (reader, _):
        if not reader.has(tables.DOCUMENTS):
            raise WarehouseError(
                f"corpus {corpus!r} has not been indexed; run 'graphrag-dagster index {corpus}'"
            )
        yield LineageRows(reader)


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


#: By owner, the steps below it, and the number of those left out.
Below = Mapping[str, tuple[tuple[LineageStep, ...], int]]


def steps_below(
    rows: pl.DataFrame,
    most: int | None,
    steps: Callable[[pl.DataFrame], Iterable[LineageStep]],
    per: Sequence[str] = ("owner",),
) -> Below:
    """Return the first rows of each ``owner`` as steps.

    Args:
        rows: the rows of all owners, in the order of their steps.
        most: most rows of one group; None for all.
        steps: makes the step of every row.
        per: columns of the groups.
    """
    shown = rows if most is None else rows.group_by(per, maintain_order=True).head(most)
    found: dict[str, list[LineageStep]] = defaultdict(list)
    for owner, step in zip(shown["owner"], steps(shown), strict=True):
        found[owner].append(step)
    totals = rows.group_by("owner").len().iter_rows()
    return {owner: (tuple(found[owner]), total - len(found[owner])) for owner, total in totals}


def facts_of(row: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return those columns of a row that have a value."""
    return {name: row[name] for name in names if row.get(name) is not None}


@dataclass(frozen=True, slots=True)
class RowKind:
    """A kind of rows that have a lineage.

    Attributes:
        table: full name of their table.
        key: its id column.
        label: title of a row.
        name: another name that a row is found by.
        numbered: whether its rows have a ``human_readable_id``.
    """

    table: str
    key: str
    label: pl.Expr
    name: pl.Expr = field(default_factory=lambda: pl.lit(None, pl.String))
    numbered: bool = True

    def candidates(self, rows: LineageRows) -> pl.DataFrame:
        """Return ``id``, ``number``, ``label`` and ``name`` of all rows."""
        number = pl.col("human_readable_id") if self.numbered else pl.lit(None, pl.Int32)
        columns = [pl.col(self.key).alias("id"), number.alias("number")]
        columns += [self.label.alias("label"), self.name.alias("name")]
        needed = {name for column in columns for name in column.meta.root_names()}
        return rows.all(self.table, sorted(needed)).select(columns)

    def titles(self, rows: LineageRows, ids: Iterable[str]) -> dict[str, str]:
        """Return the titles of rows by id."""
        found = rows.of(self.table, self.key, ids, [self.key, *self.label.meta.root_names()])
        return dict(found.select(self.key, label=self.label).iter_rows())


KINDS: Mapping[str, RowKind] = MappingProxyType(
    {
        "entity": RowKind("graph.entities", "entity_id", pl.col("title"), pl.col("name")),
        "relationship": RowKind(
            "graph.relationships",
            "relationship_id",
            pl.format("{} – {}", "source", "target"),
            pl.format("{} – {}", "target", "source"),
        ),
        "claim": RowKind("graph.claims", "claim_id", pl.col("description")),
        "triple": RowKind(
            "graph.triples",
            "triple_id",
            pl.format("{} {} {}", "head", "relation", "tail"),
            pl.format("{} – {}", "head", "tail"),
        ),
        "report": RowKind("reports.community_reports", "report_id", pl.col("title")),
        "answer": RowKind(
            "answers.answers",
            "answer_id",
            pl.format("{}: {}", "method", "question"),
            pl.col("question"),
            numbered=False,
        ),
    }
)


@dataclass(frozen=True, slots=True)
class SystemLineage:
    """Lineage of a system's own kind of rows.

    Attributes:
        kind: name of the kind for users.
        rows: where they are.
        step: returns the lineage of one row, given the tables, its id, and the most rows below it.
        affected: returns the rows affected by deleted triples and entities.
    """

    kind: str
    rows: RowKind
    step: Callable[[LineageRows, str, int | None], LineageStep]
    affected: Callable[[LineageRows, pl.DataFrame, pl.Series], pl.DataFrame]


def lineages() -> Sequence[SystemLineage]:
    """Return the lineages that systems declare."""
    return [load_target(system.lineage) for system in systems().values() if system.lineage]


def row_kinds() -> Mapping[str, RowKind]:
    """Return all kinds by name, those of systems included."""
    return {**KINDS, **{own.kind: own.rows for own in lineages()}}


def titles_of(rows: LineageRows, named: pl.DataFrame) -> Mapping[str, str]:
    """Return the titles of rows by id, for kinds that have titles.

    Args:
        rows: the tables.
        named: ``kind`` and ``id`` of each row.
    """
    titles: dict[str, str] = {}
    for kind, declared in row_kinds().items():
        titles |= declared.titles(rows, named.filter(pl.col("kind") == kind)["id"].unique())
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


def quotation_step(units: Mapping[str, Passage], unit_id: str, start: int, end: int) -> LineageStep | None:
    """Return a text unit with a quote; None if there is no such unit."""
    unit = units.get(unit_id)
    return unit_step(unit, (unit.words(start, end),)) if unit else None


def in_corpus_order(rows: LineageRows, records: pl.DataFrame) -> pl.DataFrame:
    """Return records with ``text_unit_id``, ``round`` and ``position`` in corpus order."""
    order = rows.of(
        _UNITS, "text_unit_id", records["text_unit_id"].unique(), ("text_unit_id", "human_readable_id")
    ).rename({"human_readable_id": "_unit"})
    return records.join(order, on="text_unit_id").sort("_unit", "round", "position").drop("_unit")
