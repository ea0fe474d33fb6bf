"""Loads the SQL models, and verifies beforehand that they match the declared tables.

A model is ``models/<schema>/<table>.sql``, in this package or in that of a system: one ``select`` that names
the tables it reads as ``{{ ref('schema.table') }}``. It makes the table of the same name that is declared
with ``sql=True``.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from graphlib import CycleError
from importlib.metadata import version
from importlib.util import cache_from_source
from pathlib import Path

import duckdb

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.catalogue.dependencies import dependency_order
from graphrag_dagster.kernel.catalogue.registry import model_folders
from graphrag_dagster.kernel.common.atomic_files import write_durably
from graphrag_dagster.kernel.storage.duckdb_access import first_row, line_of
from graphrag_dagster.kernel.storage.warehouse import Reader, qualified
from graphrag_dagster.kernel.tables.declared_tables import all_tables, declared_table
from graphrag_dagster.kernel.tables.table_declaration import VECTOR, Table

#: Column of a model → its source columns as pairs (``schema.table``, column).
Lineage = Mapping[str, Sequence[tuple[str, str]]]

_REF = re.compile(r"{{\s*ref\(\s*['\"](?P<name>[^'\"]+)['\"]\s*\)\s*}}")
_ROWS_OF_BUCKET, _MOST_BUCKETS = 300_000, 32
#: Lineage of the models as they are, beside the compiled code: it is derived from code alone, in a second.
_LINEAGE = Path(cache_from_source(__file__)).with_name("lineage.json")


class ModelError(WarehouseError):
    """An invalid model: the message names its file and line."""


@dataclass(frozen=True)
class SqlModel:
    """A rendered model: its query, the table it makes, the tables it reads, and its columns' sources."""

    file: Path
    table: Table
    query: str
    refs: tuple[Table, ...]
    lineage: Lineage = field(default_factory=dict)

    @property
    def in_buckets(self) -> bool:
        """Whether the query can be asked for one bucket of its keys after the other."""
        return "getvariable('bucket')" in self.query

    def buckets(self, reader: Reader) -> int:
        """Return by how many buckets of keys to ask the query; each reads all rows, so they are few."""
        if not self.in_buckets:
            return 1
        rows = reader.counts([table for table in self.refs if reader.has(table)])
        return min(1 + max(rows.values(), default=0) // _ROWS_OF_BUCKET, _MOST_BUCKETS)


@cache
def our_models() -> Sequence[SqlModel]:
    """The models of this package and of all systems; verified and traced again only after a change.

    Raises:
        ModelError: see :func:`load_models`.
    """
    models = _read(model_folders())
    fingerprint = _fingerprint(models)
    with suppress(OSError, ValueError, KeyError, TypeError):
        known = json.loads(_LINEAGE.read_text(encoding="utf-8"))
        if known["fingerprint"] == fingerprint:
            return [_with_lineage(model, known["lineage"][model.table.full_name]) for model in models]
    traced = _traced(models)
    lineage = {model.table.full_name: model.lineage for model in traced}
    # Where the package cannot be written, models are traced at each start.
    with suppress(OSError):
        _LINEAGE.parent.mkdir(exist_ok=True)
        write_durably(_LINEAGE, json.dumps({"fingerprint": fingerprint, "lineage": lineage}))
    return traced


def load_models(folders: Sequence[Path] | None = None) -> Sequence[SqlModel]:
    """Load, render, order, verify and trace every model.

    Args:
        folders: the folders of models; default: ours and those of all systems.

    Raises:
        ModelError: a ``ref`` or query is invalid, columns differ from the declaration, a declared SQL table
            has no model or two, or models refer to each other in a circle.
    """
    return _traced(_read(folders or model_folders()))


def _read(folders: Iterable[Path]) -> list[SqlModel]:
    by_name: dict[str, SqlModel] = {}
    for file in (file for folder in folders for file in sorted(folder.rglob("*.sql"))):
        model = _load(file)
        other = by_name.setdefault(model.table.full_name, model)
        if other is not model:
            raise ModelError(f"{model.file} and {other.file} make the same table; delete one")
    declared = {table.full_name for table in all_tables() if table.sql}
    if missing := sorted(declared - by_name.keys()):
        wanted = ", ".join(f"{name.replace('.', '/')}.sql" for name in missing)
        raise ModelError(
            f"no model makes {', '.join(missing)}, declared with `sql=True`: write {wanted} in the folder "
            "`models` of its package"
        )
    try:
        return dependency_order(by_name, lambda model: [ref.full_name for ref in model.refs])
    except CycleError as error:
        files = ", ".join(str(by_name[name].file) for name in error.args[1][1:])
        raise ModelError(f"models refer to each other in a circle: {files}") from error


def _fingerprint(models: Iterable[SqlModel]) -> str:
    """Return a hash of the queries and of the declarations they must match."""
    parts: list[object] = [version("sqlglot"), duckdb.__version__]
    for model in models:
        tables = (model.table, *model.refs)
        declared = [[table.full_name, [[c.name, c.type] for c in table.columns]] for table in tables]
        parts.append([model.query, declared])
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _traced(models: Sequence[SqlModel]) -> Sequence[SqlModel]:
    # Imported here because tracing is needed only after a change.
    from graphrag_dagster.dbt_like_sql.column_lineage import column_lineage

    _check_columns(models)
    return [_with_lineage(model, column_lineage(model.query, model.table, model.refs)) for model in models]


def _with_lineage(model: SqlModel, lineage: Mapping[str, Iterable[Sequence[str]]]) -> SqlModel:
    pairs = {name: [(table, column) for table, column in lineage[name]] for name in model.table.column_names}
    return replace(model, lineage=pairs)


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _load(file: Path) -> SqlModel:
    text = file.read_text(encoding="utf-8")
    full_name = f"{file.parent.name}.{file.stem}"
    try:
        target = declared_table(full_name)
    except WarehouseError as error:
        raise ModelError(f"{file}: {error}") from error
    if not target.sql:
        raise ModelError(f"{file}: {full_name} is not declared with `sql=True` in any `tables.py`")
    refs: dict[str, Table] = {}
    for match in _REF.finditer(text):
        try:
            refs[match["name"]] = declared_table(match["name"])
        except WarehouseError as error:
            raise ModelError(f"{file}:{_line(text, match.start())}: {error}") from error
    query = _REF.sub(lambda match: qualified(refs[match["name"]]), text)
    # Blank lines before it stay, so that errors name the lines of the file.
    return SqlModel(file, target, query.rstrip(), tuple(refs[name] for name in sorted(refs)))


def empty_database(declared: Iterable[Table] = all_tables()) -> duckdb.DuckDBPyConnection:
    """Return an in-memory database with every declared table, empty."""
    connection = duckdb.connect(":memory:", config={"python_enable_replacements": False})
    for table in declared:
        columns = ", ".join(f'"{c.name}" {"FLOAT[]" if c.type == VECTOR else c.type}' for c in table.columns)
        connection.execute(f'create schema if not exists "{table.schema}"')
        connection.execute(f"create table {qualified(table)} (corpus VARCHAR, {columns})")
    return connection


def _check_columns(models: Iterable[SqlModel]) -> None:
    with empty_database() as database:
        for model in models:
            actual = _describe(database, model)
            declared = {c.name: _normal(database, c.type) for c in model.table.columns}
            if list(actual) != list(declared):
                raise ModelError(
                    f"{model.file}: the query has the columns {list(actual)}; the table declares "
                    f"{list(declared)}"
                )
            for name, type_ in declared.items():
                if actual[name] != type_:
                    raise ModelError(f"{model.file}: {name} is {actual[name]}; the table declares {type_}")


def _describe(database: duckdb.DuckDBPyConnection, model: SqlModel) -> Mapping[str, str]:
    try:
        rows = database.execute(f"describe {model.query}").fetchall()
    except duckdb.Error as error:
        text = str(error)
        raise ModelError(f"{model.file}:{line_of(text)}: {text.splitlines()[0]}") from error
    return {name: type_ for name, type_, *_ in rows}


def _normal(database: duckdb.DuckDBPyConnection, type_: str) -> str:
    row = first_row(database.execute(f"select typeof(cast(null as {type_}))"))
    return str(row[0]) if row else type_
