"""Writes what is made from the code: reference pages, the schema of the SQL models, types of the explorer's page."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from api_types import api_types
from command_reference import command_reference
from dagster import AssetsDefinition
from http_reference import http_reference
from pydantic import BaseModel
from pydantic_core import PydanticUndefined
from sql_schema import schema_yml

from graphrag_dagster.apps.cypher.tables import GRAPH_TABLES, GraphTable
from graphrag_dagster.dbt_like_sql.loader import load_models
from graphrag_dagster.kernel.catalogue.registry import model_folders
from graphrag_dagster.kernel.common.state_comparison import flatten
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.settings.indexing_settings import TableColumns
from graphrag_dagster.kernel.settings.profiles import NEED_A_MODEL, profiles
from graphrag_dagster.kernel.settings.section import NamedChoice
from graphrag_dagster.kernel.tables.declared_tables import all_tables
from graphrag_dagster.kernel.tables.table_declaration import Table
from graphrag_dagster.service.explorer import PAGE

DOCS = Path(__file__).parent
PROJECT = DOCS / "how-to" / "dagster-project.md"
_PROPERTY_GRAPH = (
    "Made of the published snapshot for [queries in Cypher](cypher.md), from `apps/cypher/tables.py`: nodes and "
    "relations, with their properties."
)


def data_dictionary() -> str:
    """Every table with its columns, key and meaning."""
    parts = [
        "# Tables",
        "Made from `graphrag_dagster/kernel/tables/` by `make docs`. Each corpus has a DuckDB file of its own. An asset "
        "shows the name of its table. Every table begins with the column `corpus`.",
    ]
    for group in dict.fromkeys(table.group for table in all_tables()):
        parts.append(f"## {group}")
        parts += [_table(table) for table in all_tables() if table.group == group]
    parts += ["## property graph", _PROPERTY_GRAPH, *map(_graph_table, GRAPH_TABLES)]
    return "\n\n".join(parts) + "\n"


def _graph_table(table: GraphTable) -> str:
    lines = [f"### {table.pattern}", "", table.meaning]
    if table.properties:
        lines += ["", "| property | type | meaning |", "| --- | --- | --- |"]
        lines += [f"| {one.name} | `{one.engine_type}` | {one.meaning} |" for one in table.properties]
    return "\n".join(lines)


def _table(table: Table) -> str:
    lines = [f"### {table.full_name}", "", table.meaning + (" *(SQL model)*" if table.sql else ""), ""]
    lines += [
        f"Key: `corpus, {', '.join(table.key)}`",
        "",
        "| column | type | meaning |",
        "| --- | --- | --- |",
    ]
    for column in table.columns:
        notes = [column.meaning]
        if column.values:
            notes.append("one of " + ", ".join(f"`{value}`" for value in column.values))
        if column.references:
            notes.append(f"→ `{column.references}`")
        if column.nullable:
            notes.append("may be null")
        lines.append(f"| {column.name} | `{column.type}` | {'; '.join(notes)} |")
    return "\n".join(lines)


def settings_reference() -> str:
    """Every key of corpus.yaml with type, default and meaning."""
    lines = [
        "# Settings",
        "",
        "Made from `graphrag_dagster/kernel/settings/` by `make docs`.",
        "",
        "`corpus.yaml` lies in the corpus folder; every key is optional, unknown keys are refused. What belongs to "
        "the machine comes from environment variables:",
        "",
        "| variable | meaning | default |",
        "| --- | --- | --- |",
        "| `GRAPHRAG_DAGSTER_HOME` | folder that holds corpora, warehouse and Dagster instance | current folder |",
        "| `GRAPHRAG_DAGSTER_CORPORA` | the corpora root | `corpora` in the home |",
        "| `GRAPHRAG_DAGSTER_WAREHOUSE` | path of a corpus's DuckDB file, with `{corpus}` | `warehouse/{corpus}.duckdb` in the home |",
        "| `GRAPHRAG_DAGSTER_PUBLISHED` | where machines [share snapshots](../how-to/object-storage.md): `s3://bucket/prefix` or `file:///folder`; credentials as of every AWS client | nowhere |",
        "| `GRAPHRAG_DAGSTER_EXPLORER` | where people open the explorer, which Dagster links to | `http://127.0.0.1:8000` |",
        "| `DAGSTER_HOME` | the Dagster instance | `.dagster_home` in the home |",
        "| `GRAPHRAG_DAGSTER_CACHE` | the LLM cache: a file, or `postgresql://user@host/database` | `cache/replies.sqlite` in the home |",
        "| `GRAPHRAG_DAGSTER_EXECUTOR` | `in_process`, `multiprocess`, `ray` or `k8s` | `in_process` |",
        "| `GRAPHRAG_DAGSTER_RESEARCH` | `true`: evaluation, studies and paths are assets and jobs too | `false` |",
        "| `GRAPHRAG_DAGSTER_PREVIEWS` | `true`: five rows of each table in Dagster, until its history is deleted | `false` |",
        "| `OPENAI_BASE_URL` | model endpoint where the corpus names none | OpenAI's |",
        "| `OPENAI_API_KEY` | its key, or the variable that `model.api_key_variable` names | none |",
        "",
        "## corpus.yaml",
        "",
        "| key | type | default | meaning |",
        "| --- | --- | --- | --- |",
    ]
    lines += list(_rows(CorpusSettings, ""))
    lines += [
        "",
        "### Columns of a table-like file, below `tables.<glob>`",
        "",
        "| key | type | meaning |",
        "| --- | --- | --- |",
    ]
    for name, field in TableColumns.model_fields.items():
        lines.append(f"| `{name}` | {_type(field.annotation)} | {field.description} |")
    for profile, values in profiles().items():
        lines += list(_profile(profile, values))
    return "\n".join(lines) + "\n"


def _profile(name: str, values: Mapping[str, Any]) -> Iterator[str]:
    if not values:
        return
    yield ""
    yield f"### What `profile: {name}` sets"
    yield ""
    yield "A key that the file gives itself keeps its value; every other key has its default."
    yield ""
    yield "| key | value | default |"
    yield "| --- | --- | --- |"
    defaults = flatten(CorpusSettings().model_dump(mode="json"))
    for key, value in values.items():
        default = defaults.get(key)
        shown = "the same" if default == value else "" if default is None else f"`{default}`"
        where = " (where a model does it)" if key in NEED_A_MODEL else ""
        yield f"| `{key}` | `{value}`{where} | {shown} |"


def _rows(model: type[BaseModel], prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        annotation = field.annotation
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            yield f"| **`{prefix}{name}`** | section | | {(annotation.__doc__ or '').strip()} |"
            yield from _rows(annotation, f"{prefix}{name}.")
            continue
        default = field.get_default(call_default_factory=True, validated_data={})
        plain = list(default) if isinstance(default, tuple) else default
        shown = "" if plain in (PydanticUndefined, None) else f"`{plain}`"
        choices = [one for one in field.metadata if isinstance(one, NamedChoice)]
        told = _names(choices[0]) if choices else _type(annotation)
        yield f"| `{prefix}{name}` | {told} | {shown} | {field.description} |"


def _names(choice: NamedChoice) -> str:
    return ", ".join(f"`{name}`" for name in choice.names())


def _type(annotation: object) -> str:
    if get_origin(annotation) is Literal:
        return ", ".join(f"`{value}`" for value in get_args(annotation))
    if get_origin(annotation) in (Union, UnionType):
        return " or ".join(_type(part) for part in get_args(annotation) if part is not type(None))
    if get_origin(annotation) in (list, tuple):
        return f"list of {_type(get_args(annotation)[0])}"
    if get_origin(annotation) is Annotated:
        choices = [one for one in get_args(annotation)[1:] if isinstance(one, NamedChoice)]
        return _names(choices[0]) if choices else _type(get_args(annotation)[0])
    if get_origin(annotation) is dict:
        return "mapping"
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        inside = (f"{name}: {_type(field.annotation)}" for name, field in annotation.model_fields.items())
        return f"{{{', '.join(inside)}}}"
    return {"str": "text", "int": "whole number", "float": "number", "bool": "true or false"}.get(
        getattr(annotation, "__name__", ""), str(annotation)
    )


_NAMES_BEGIN, _NAMES_END = "<!-- made by docs/generate.py -->", "<!-- end -->"


def project_page() -> str:
    """The page on projects, in which the names that the component adds are those of the definitions."""
    from graphrag_dagster.component import compose
    from graphrag_dagster.resources.dagster_keys import CORPUS

    defs, alone = compose(research=True), compose()
    index = {job.name for job in alone.jobs or ()}

    def listed(names: Iterable[str]) -> str:
        return ", ".join(f"`{name}`" for name in names)

    pools = {
        definition.op.pool for definition in defs.assets or () if isinstance(definition, AssetsDefinition)
    }
    rows = {
        "assets": "those of the [tables](../reference/tables.md), each with one check, `valid`",
        "jobs": listed(job.name for job in alone.jobs or ()),
        "jobs with `research`": listed(job.name for job in defs.jobs or () if job.name not in index),
        "sensors": listed(sensor.name for sensor in defs.sensors or ()),
        "schedules": listed(schedule.name for schedule in defs.schedules or ()),
        "resources": listed(sorted(defs.resources or ())),
        "of the whole instance": f"the dynamic partition `{CORPUS.name}`, the pool {listed(filter(None, pools))}",
    }
    table = "\n".join(["| what | names |", "| --- | --- |", *(f"| {a} | {b} |" for a, b in rows.items())])
    before, _, rest = PROJECT.read_text(encoding="utf-8").partition(_NAMES_BEGIN)
    after = rest.partition(_NAMES_END)[2]
    return f"{before}{_NAMES_BEGIN}\n{table}\n{_NAMES_END}{after}"


def sql_schema() -> str:
    """The tables that SQL models make, each model checked against its table."""
    ours = model_folders()[0]
    return schema_yml(model.table for model in load_models() if model.file.is_relative_to(ours))


MADE = {
    DOCS / "reference" / "tables.md": data_dictionary,
    DOCS / "reference" / "settings.md": settings_reference,
    DOCS / "reference" / "commands.md": command_reference,
    DOCS / "reference" / "http.md": http_reference,
    PROJECT: project_page,
    model_folders()[0] / "schema.yml": sql_schema,
    PAGE / "js" / "api.d.ts": api_types,
}


def main() -> None:
    """Write the files, or with --check fail where one is out of date."""
    for path, make in MADE.items():
        if "--check" in sys.argv:
            if not path.exists() or path.read_text(encoding="utf-8") != make():
                sys.exit(f"{path} is out of date; run: make docs")
        else:
            path.write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
