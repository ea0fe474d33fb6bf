"""What must hold of every written table, derived from its declaration."""

from collections.abc import Iterator, Mapping

from graphrag_dagster import tables
from graphrag_dagster.resources.warehouse import Reader, qualified
from graphrag_dagster.tables import Column, Table


def violations(reader: Reader, table: Table) -> list[str]:
    """Return what is wrong with the corpus's rows: duplicate keys, nulls, values, dangling references."""
    conditions = {
        problem: condition for column in table.columns for problem, condition in _broken(table, column)
    }
    return [*_keys(reader, table), *_counted(reader, table, conditions)]


def _broken(table: Table, column: Column) -> Iterator[tuple[str, str]]:
    """What may be wrong with a column, and of which rows it is true."""
    name = f'"{column.name}"'
    if not column.nullable:
        yield f"{column.name} is null", f"{name} is null"
    if column.values:
        listed = ", ".join(f"'{value}'" for value in column.values)
        yield f"{column.name} is not allowed", f"{name} not in ({listed})"
    if column.references:
        target_name, _, key = column.references.rpartition(".")
        target = tables.table(target_name)
        known = f'select "{key}" from {qualified(target)} where corpus = {qualified(table)}.corpus'
        yield (
            f"{column.name} does not stand in {column.references}",
            f"{name} is not null and {name} not in ({known})",
        )


def _keys(reader: Reader, table: Table) -> list[str]:
    keys = ", ".join(f'"{key}"' for key in table.key)
    row = reader.connection.execute(
        f"select count(*) from (select 1 from {qualified(table)} where corpus = ? "
        f"group by {keys} having count(*) > 1)",
        [reader.corpus],
    ).fetchone()
    return [f"{row[0]} keys are not unique"] if row and row[0] else []


def _counted(reader: Reader, table: Table, conditions: Mapping[str, str]) -> list[str]:
    if not conditions:
        return []
    counts = ", ".join(f"count(*) filter (where {condition})" for condition in conditions.values())
    row = reader.connection.execute(
        f"select {counts} from {qualified(table)} where corpus = ?", [reader.corpus]
    ).fetchone()
    found = zip(conditions, row or (), strict=True)
    return [f"{problem} in {count} rows" for problem, count in found if count]
