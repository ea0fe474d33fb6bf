"""Declaration of tables and columns, and the validation derived from it."""

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType

import polars as pl

from graphrag_dagster.errors import WarehouseError

SPANS = 'STRUCT("start" INTEGER, "end" INTEGER)[]'
VECTOR = "FLOAT[n]"
#: Rows converted at a time: Python objects take several times the memory of a frame.
_AT_ONCE = 10_000

_POLARS_TYPES: Mapping[str, pl.DataType] = MappingProxyType(
    {
        "VARCHAR": pl.String(),
        "INTEGER": pl.Int32(),
        "BIGINT": pl.Int64(),
        "DOUBLE": pl.Float64(),
        "BOOLEAN": pl.Boolean(),
        "DATE": pl.Date(),
        "VARCHAR[]": pl.List(pl.String()),
        "INTEGER[]": pl.List(pl.Int32()),
        SPANS: pl.List(pl.Struct({"start": pl.Int32(), "end": pl.Int32()})),
    }
)


class EngineNames:
    """The closed set of values of a column: some fixed values, then the engine names.

    Engines are looked up when values are asked for, not on declaration, because plug-ins have to be imported
    first and may import the tables.
    """

    def __init__(self, *before: str) -> None:
        self._before = before

    def __iter__(self) -> Iterator[str]:
        from graphrag_dagster.kernel.catalogue.registry import engines

        return iter((*self._before, *engines()))

    def __repr__(self) -> str:
        # Independent of the installed plug-ins, like the declaration itself.
        return f"EngineNames{self._before!r}"


@dataclass(frozen=True)
class Column:
    """A column: DuckDB type, meaning and constraints.

    ``values`` is the closed set of allowed values. ``references`` is the ``schema.table.column`` in which
    each non-null value must exist.
    """

    name: str
    type: str
    meaning: str
    nullable: bool = False
    values: Iterable[str] = ()
    references: str | None = None

    def polars_type(self) -> pl.DataType | None:
        """The Polars type; None for vectors, whose length depends on the frame."""
        return None if self.type == VECTOR else _POLARS_TYPES[self.type]


@dataclass(frozen=True)
class Table:
    """A table ``schema.name`` of DuckDB, made by the stage ``group``."""

    schema: str
    name: str
    group: str
    meaning: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    sql: bool = False

    @property
    def full_name(self) -> str:
        """``schema.name``."""
        return f"{self.schema}.{self.name}"

    @property
    def path(self) -> list[str]:
        """``[schema, name]``."""
        return [self.schema, self.name]

    def column(self, name: str) -> Column:
        """Return the column of that name.

        Raises:
            WarehouseError: no such column.
        """
        for column in self.columns:
            if column.name == name:
                return column
        raise WarehouseError(f"{self.full_name} has no column {name!r}; its columns are {self.column_names}")

    @property
    def column_names(self) -> list[str]:
        """The columns in order, without ``corpus``."""
        return [column.name for column in self.columns]

    def types(self, *names: str) -> dict[str, pl.DataType]:
        """Return the Polars types of the named columns, default all, with vectors as lists."""
        columns = map(self.column, names) if names else self.columns
        return {c.name: c.polars_type() or pl.List(pl.Float32) for c in columns}

    def empty(self) -> pl.DataFrame:
        """Return a frame with the declared columns and no rows (vectors as lists)."""
        return pl.DataFrame(schema=self.types())

    def rows(self, rows: Iterable[Mapping[str, object]]) -> pl.DataFrame:
        """Build a frame of the declared types from rows, preserving their order."""
        types, pending, parts = self.types(), iter(rows), [self.empty()]
        while batch := list(islice(pending, _AT_ONCE)):
            parts.append(pl.DataFrame(batch, schema=types, orient="row"))
        return pl.concat(parts)

    def frame(self, rows: Iterable[Mapping[str, object]]) -> pl.DataFrame:
        """Build a frame of the declared types from rows, sorted by the key."""
        return self.rows(rows).sort(self.key)

    def frame_of(self, rows: Iterable[Sequence[object]]) -> pl.DataFrame:
        """Build a frame of the declared types from rows, sorted by the key. Each row has its values in column
        order.
        """
        types, pending, parts = self.types(), iter(rows), [self.empty()]
        while batch := list(islice(pending, _AT_ONCE)):
            columns = dict(zip(types, zip(*batch, strict=True), strict=True))
            parts.append(pl.DataFrame(columns, schema=types))
        return pl.concat(parts).sort(self.key)

    def validated(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the frame with columns in declared order and types, sorted by the key; texts may stay
        categories.

        Raises:
            WarehouseError: a column is missing, unknown, of another type, null though not nullable, or
                outside its allowed values, or the key is not unique. The message names the table, the column
                and an example row.
        """
        self._check_names(frame)
        in_order = frame if frame.columns == self.column_names else frame.select(self.column_names)
        ordered = self._cast(in_order)
        if ordered.is_empty():
            return ordered
        for column in self.columns:
            self._check_column(ordered, column)
        if self.in_order(ordered):
            return ordered
        ordered = ordered.sort(self.key)
        if not self.in_order(ordered):
            repeated = ordered.filter(pl.struct(self.key).is_duplicated()).select(self.key)
            if len(repeated):
                raise WarehouseError(
                    f"{self.full_name}: the key {self.key} is not unique, for example "
                    f"{repeated.row(0, named=True)}"
                )
        return ordered

    def in_order(self, frame: pl.DataFrame) -> bool:
        """Whether the rows are sorted by the key and no key is repeated, as in rows that were stored.

        Checking takes less time and memory than sorting.
        """
        before, same = pl.lit(value=False), pl.lit(value=True)
        for key in map(pl.col, self.key):
            before |= same & (key.shift() < key)
            same &= key.shift() == key
        return bool(frame.select(before.slice(1).fill_null(value=False).all()).item())

    def _check_names(self, frame: pl.DataFrame) -> None:
        missing = [name for name in self.column_names if name not in frame.columns]
        unknown = [name for name in frame.columns if name not in self.column_names]
        if missing or unknown:
            raise WarehouseError(
                f"{self.full_name}: columns missing {missing}, unknown {unknown}; declared are "
                f"{self.column_names}"
            )

    def _cast(self, frame: pl.DataFrame) -> pl.DataFrame:
        for column in self.columns:
            declared, actual = column.polars_type(), frame.schema[column.name]
            if declared is None:
                if not isinstance(actual, pl.Array | pl.List):
                    raise WarehouseError(f"{self.full_name}.{column.name}: expected a vector, not {actual}")
            elif actual != declared and not (declared == pl.String and actual == pl.Categorical):
                try:
                    frame = frame.with_columns(pl.col(column.name).cast(declared, strict=True))
                except (pl.exceptions.PolarsError, TypeError) as error:
                    raise WarehouseError(
                        f"{self.full_name}.{column.name}: {actual} cannot be converted to {column.type}: "
                        f"{error}"
                    ) from error
        return frame

    def _check_column(self, frame: pl.DataFrame, column: Column) -> None:
        values = frame[column.name]
        if not column.nullable and values.null_count():
            row = frame.filter(pl.col(column.name).is_null()).select(self.key).row(0, named=True)
            raise WarehouseError(f"{self.full_name}.{column.name} is null in {row} but must not be")
        if column.values:
            allowed = {None, *column.values}
            if invalid := [value for value in values.unique(maintain_order=True) if value not in allowed]:
                raise WarehouseError(
                    f"{self.full_name}.{column.name}: {invalid[0]!r} is not one of {', '.join(column.values)}"
                )


def column(
    name: str,
    type_: str,
    meaning: str,
    *,
    nullable: bool = False,
    values: Iterable[str] = (),
    ref: str | None = None,
) -> Column:
    """Declare a column; ``ref`` is the ``schema.table.column`` it references."""
    return Column(name, type_, meaning, nullable, values, ref)


ENGINE = column("engine", "VARCHAR", "Implementation that made the row", values=EngineNames())
#: The columns of a fingerprint table, which records what the other tables of its stage depend on.
DECIDING = (
    column("part", "VARCHAR", "Code, engine, setting or library"),
    column("value", "VARCHAR", "Its version, hash or value"),
)


def repaired(name: str = "repaired", what: str = "Replies that were repaired for it") -> Column:
    """Declare the column that counts repaired replies; a reply is only repaired where nothing of it is lost."""
    return column(name, "INTEGER", what)


def embeddings(schema: str, name: str, key: str, ref: str, meaning: str, group: str = "") -> Table:
    """Declare a table with one vector per row.

    Args:
        schema: the table's schema.
        name: the table's name.
        key: column with the ids of the embedded rows.
        ref: the column it references.
        meaning: the table's meaning.
        group: the stage that makes it; blank: the stage named like the schema.
    """
    return Table(
        schema,
        name,
        group or schema,
        meaning,
        (key,),
        (
            column(key, "VARCHAR", "Id of the embedded row", ref=ref),
            column("text_hash", "VARCHAR", "Hash of the embedded text"),
            column("embedder", "VARCHAR", "Embedder that made the vector"),
            column("vector", VECTOR, "Unit-length vector"),
        ),
    )


#: Input of a step: all rows of its corpus, by table. A step may empty it, so that what it has read is not kept.
Tables = MutableMapping[Table, pl.DataFrame]
