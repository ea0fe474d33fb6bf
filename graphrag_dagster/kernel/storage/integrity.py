"""Integrity checks of every written table, derived from its declaration."""

from collections.abc import Iterator

from graphrag_dagster.kernel.catalogue.registry import declared_table
from graphrag_dagster.kernel.storage.warehouse import Reader, of_corpus, qualified
from graphrag_dagster.kernel.tables import Column, Table


def violations(reader: Reader, table: Table) -> list[str]:
    """Return what is wrong with the corpus's rows: duplicate keys, nulls, values, dangling references."""
    keys, ours = ", ".join(f'"{key}"' for key in table.key), of_corpus(reader.corpus)
    repeated = f"select 1 from {qualified(table)} where {ours} group by {keys} having count(*) > 1"
    broken = [found for column in table.columns for found in _broken(column, ours)]
    counted = [
        f"(select count(*) from ({repeated}))",
        *(f"count(*) filter (where {one})" for _, one in broken),
    ]
    counts = reader.connection.execute(
        f"select {', '.join(counted)} from {qualified(table)} where {ours}"
    ).fetchall()[0]
    told = [f"{counts[0]} keys are not unique"] if counts[0] else []
    wrong = zip(broken, counts[1:], strict=True)
    return [*told, *(f"{problem} in {count} rows" for (problem, _), count in wrong if count)]


def _broken(column: Column, ours: str) -> Iterator[tuple[str, str]]:
    """A possible problem of a column, and the rows that have it."""
    name = f'"{column.name}"'
    if not column.nullable:
        yield f"{column.name} is null", f"{name} is null"
    if column.values:
        listed = ", ".join(f"'{value}'" for value in column.values)
        yield f"{column.name} is not allowed", f"{name} not in ({listed})"
    if column.references:
        target_name, _, key = column.references.rpartition(".")
        target = declared_table(target_name)
        known = f'select "{key}" from {qualified(target)} where {ours}'
        yield (
            f"{column.name} is missing from {column.references}",
            f"{name} is not null and {name} not in ({known})",
        )
