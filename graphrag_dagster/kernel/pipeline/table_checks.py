"""Rules that tables must meet before anything is built on them, and the integrity of every table."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from graphrag_dagster.kernel.catalogue.registry import load_target, systems
from graphrag_dagster.kernel.documents.text_units import check_texts, check_units
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse, of_corpus, qualified
from graphrag_dagster.kernel.tables import core_tables as tables
from graphrag_dagster.kernel.tables.declared_tables import declared_table
from graphrag_dagster.kernel.tables.table_declaration import Column, Table


def violations(reader: Reader, table: Table) -> list[str]:
    """Return integrity problems of the corpus's rows: duplicate keys, nulls, invalid values, dangling
    references.
    """
    keys, ours = ", ".join(f'"{key}"' for key in table.key), of_corpus(reader.corpus)
    repeated = f"select 1 from {qualified(table)} where {ours} group by {keys} having count(*) > 1"
    broken = [problem for column in table.columns for problem in _violated_rules(column, ours)]
    counted = [
        f"(select count(*) from ({repeated}))",
        *(f"count(*) filter (where {condition})" for _, condition in broken),
    ]
    counts = reader.connection.execute(
        f"select {', '.join(counted)} from {qualified(table)} where {ours}"
    ).fetchall()[0]
    problems = [f"{counts[0]} keys are not unique"] if counts[0] else []
    numbered = zip(broken, counts[1:], strict=True)
    return [*problems, *(f"{problem} in {count} rows" for (problem, _), count in numbered if count)]


def _violated_rules(column: Column, ours: str) -> Iterator[tuple[str, str]]:
    """Yield the possible problems of a column, each with the SQL condition of the rows that have it."""
    name = f'"{column.name}"'
    if not column.nullable:
        yield f"{column.name} is null", f"{name} is null"
    if column.values:
        allowed = ", ".join(f"'{value}'" for value in column.values)
        yield f"{column.name} is not allowed", f"{name} not in ({allowed})"
    if column.references:
        target_name, _, key = column.references.rpartition(".")
        target = declared_table(target_name)
        existing = f'select "{key}" from {qualified(target)} where {ours}'
        yield (
            f"{column.name} is missing from {column.references}",
            f"{name} is not null and {name} not in ({existing})",
        )


class CheckedPlace:
    """Input of a check: the tables of a corpus, its settings and its published snapshot.

    Args:
        reader: reader of the corpus; nothing is written while it is open.
        settings: the corpus's settings.
        warehouse: the warehouse with the snapshots.
    """

    def __init__(self, reader: Reader, settings: CorpusSettings, warehouse: Warehouse) -> None:
        self.reader, self.settings, self.warehouse = reader, settings, warehouse
        self._read: dict[tuple[Table, tuple[str, ...]], pl.DataFrame] = {}

    def read(self, table: Table, *columns: str) -> pl.DataFrame:
        """Return some columns, default all, of all rows of the corpus."""
        if (table, columns) not in self._read:
            self._read[table, columns] = self.reader.read(table, columns)
        return self._read[table, columns]


@dataclass(frozen=True, slots=True)
class TableRule:
    """A rule; ``problems`` returns an empty list if it holds. Non-blocking rules only warn."""

    table: Table
    description: str
    problems: Callable[[CheckedPlace], Sequence[str]]
    blocking: bool = True


def _units_cover_documents(place: CheckedPlace) -> list[str]:
    if place.settings.makes("imports"):
        return check_texts(place.read(tables.DOCUMENTS), place.read(tables.TEXT_CHUNKS))
    return check_units(place.read(tables.DOCUMENTS), place.read(tables.TEXT_CHUNKS))


_OWN = (
    TableRule(
        tables.TEXT_CHUNKS,
        "Units cover every character of their document and reproduce its text",
        _units_cover_documents,
    ),
)


def rules() -> Sequence[TableRule]:
    """Return the rules of the kernel and of all systems."""
    of_systems = (load_target(system.rules) for system in systems().values() if system.rules)
    return (*_OWN, *(rule for declared in of_systems for rule in declared))
