"""Loads the SQL models, and verifies beforehand that they match the declared tables.

A model is ``models/<folder>/<name>.sql``: one ``select`` that names its tables as
``{{ ref('schema.table') }}``. It makes the table of the same name that ``tables`` declares with ``sql=True``.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

import duckdb

from graphrag_dagster.errors import WarehouseError
from graphrag_dagster.kernel.storage.duckdb_access import first_row, line_of
from graphrag_dagster.kernel.storage.warehouse import Reader, qualified
from graphrag_dagster.kernel.tables.declared_tables import all_tables, declared_table
from graphrag_dagster.kernel.tables.table_declaration import VECTOR, Table

#: Column of a model → its source columns as pairs (``schema.table``, column).
Lineage = Mapping[str, list[tuple[str, str]]]


@dataclass(frozen=True)
class Manifest:
    """Verified models by fingerprint, with their column lineage.

    A model that is not listed has changed since, or is from another package; it is verified on loading.
    """

    lineage: Mapping[str, Lineage] = field(default_factory=dict)

    @classmethod
    def at(cls, file: Path) -> "Manifest":
        """Read the manifest from a file; empty if there is none."""
        if not file.is_file():
            return cls()
        content: dict[str, dict[str, list[list[str]]]] = json.loads(file.read_text(encoding="utf-8"))
        return cls(
            {
                fingerprint: {
                    column: [(table, name) for table, name in sources] for column, sources in columns.items()
                }
                for fingerprint, columns in content.items()
            }
        )

    @classmethod
    def of(cls, models: Iterable["SqlModel"]) -> "Manifest":
        """Trace the column lineage of verified models."""
        return cls({model.fingerprint: model.traced() for model in models})

    def text(self) -> str:
        """Return the content of the file."""
        return json.dumps(self.lineage, indent=1, sort_keys=True) + "\n"


MODELS = Path(__file__).parent / "models"
#: Written by ``make docs``.
MANIFEST = MODELS / "manifest.json"
_REF = re.compile(r"{{\s*ref\(\s*['\"](?P<name>[^'\"]+)['\"]\s*\)\s*}}")
_TEMPLATE = re.compile(r"{[{%#].*")
_ROWS_OF_BUCKET, _MOST_BUCKETS = 300_000, 32


class ModelError(WarehouseError):
    """An invalid model: the message names its file and line."""


@dataclass(frozen=True)
class SqlModel:
    """A rendered model: the query, the table it makes and the tables it reads."""

    file: Path
    table: Table
    query: str
    refs: tuple[Table, ...]
    manifest: Manifest

    @property
    def fingerprint(self) -> str:
        """Hash of the query and of the declarations it must match."""
        declared = [
            [table.full_name, [[c.name, c.type] for c in table.columns]] for table in (self.table, *self.refs)
        ]
        return hashlib.sha256(json.dumps([self.query, declared]).encode()).hexdigest()[:16]

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

    @cached_property
    def lineage(self) -> Lineage:
        """The source columns of every column, as sorted pairs (table, column)."""
        known = self.manifest.lineage.get(self.fingerprint)
        return self.traced() if known is None else known

    def traced(self) -> Lineage:
        """Derive the lineage from the query."""
        from graphrag_dagster.kernel.pipeline.sql_models.column_lineage import column_lineage

        return column_lineage(self.query, self.table, self.refs)


@cache
def our_models() -> Sequence[SqlModel]:
    """The models of this package; only those missing from its manifest are verified."""
    return load_models(MODELS, Manifest.at(MANIFEST))


def load_models(folder: Path = MODELS, manifest: Manifest | None = None) -> list[SqlModel]:
    """Load, render and order every model below the folder, and verify those missing from the manifest.

    Raises:
        ModelError: a template, ``ref`` or query is invalid, columns differ from the declaration, a declared
            SQL table has no model, or models refer to each other in a circle.
    """
    known = manifest or Manifest()
    models = [_load(file, known) for file in sorted(folder.rglob("*.sql"))]
    declared = {table.full_name for table in all_tables() if table.sql}
    if missing := sorted(declared - {model.table.full_name for model in models}):
        raise ModelError(
            f"{folder}: no model makes {', '.join(missing)}, which a `tables.py` declares with `sql=True`"
        )
    ordered = _ordered(models)
    if unknown := [model for model in ordered if model.fingerprint not in known.lineage]:
        _check_columns(unknown)
    return ordered


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def _load(file: Path, manifest: Manifest) -> SqlModel:
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
    if other := _TEMPLATE.search(query):
        raise ModelError(
            f"{file}:{_line(query, other.start())}: {other[0]} is not {{{{ ref('schema.table') }}}}"
        )
    return SqlModel(file, target, query.strip(), tuple(refs[name] for name in sorted(refs)), manifest)


def _ordered(models: Iterable[SqlModel]) -> list[SqlModel]:
    waiting = {model.table.full_name: model for model in models}
    ordered: list[SqlModel] = []
    while waiting:
        ready = [m for m in waiting.values() if not any(ref.full_name in waiting for ref in m.refs)]
        if not ready:
            files = ", ".join(str(model.file) for model in waiting.values())
            raise ModelError(f"models refer to each other in a circle: {files}")
        for model in ready:
            ordered.append(waiting.pop(model.table.full_name))
    return ordered


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
