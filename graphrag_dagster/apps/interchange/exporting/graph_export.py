"""Exports the published snapshot of a corpus in a format that other tools read."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from graphrag_dagster.apps.interchange.exporting import imported_tables
from graphrag_dagster.apps.interchange.exporting import index_tables as own_tables
from graphrag_dagster.apps.interchange.exporting.ducklake_catalogue import (
    lake_connection,
    path_in_lake,
    write_catalogue,
)
from graphrag_dagster.apps.interchange.exporting.export_folder import (
    ExportedFile,
    ExportWriter,
    atomic_export_folder,
)
from graphrag_dagster.apps.interchange.exporting.export_rows import (
    RowBatches,
    column_types,
    write_csv_file,
    write_parquet,
)
from graphrag_dagster.apps.interchange.exporting.export_source import (
    ExportSource,
    adopted_tables,
    open_source,
    view_of,
)
from graphrag_dagster.apps.interchange.exporting.exported_graphs import write_neo4j, write_network, write_rdf
from graphrag_dagster.apps.interchange.exporting.imported_graph import imported_lists
from graphrag_dagster.apps.interchange.exporting.index_tables import TITLES
from graphrag_dagster.apps.interchange.exporting.microsoft_project import (
    EXTRA,
    SCHEMAS,
    Models,
    has_lance,
    readme_text,
    settings_text,
    write_vectors,
)
from graphrag_dagster.apps.interchange.exporting.microsoft_tables import EMBEDDED, TABLES, VECTORS
from graphrag_dagster.errors import ExportError
from graphrag_dagster.kernel.catalogue.registry import engines
from graphrag_dagster.kernel.common.printable import plural
from graphrag_dagster.kernel.settings.corpus_settings import parse_settings
from graphrag_dagster.kernel.storage.corpus_names import check_name
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import Table
from graphrag_dagster.kernel.tables.declared_tables import all_tables

_OUTPUT = "output"
#: Its command reads no claims where there is no file.
_OPTIONAL = "covariates"


def write_microsoft(source: ExportSource, made: ExportWriter) -> list[str]:
    """Write the tables, vectors and settings of a project; returns what it lacks, a sentence each."""
    define_tables(source)
    for name, schema in SCHEMAS.items():
        if name == _OPTIONAL and not source.count(f"ms_{name}"):
            continue
        path = f"{_OUTPUT}/{name}.parquet"
        rows = write_parquet(made.place(path), source.rows(TABLES[name]), schema)
        made.note(path, rows, column_types(schema))
    lacking = list(_vectors(source, made))
    models = _models(source)
    made.text("settings.yaml", settings_text(models))
    made.text("README.md", readme_text(source.corpus, models, lacking))
    return lacking


def define_tables(source: ExportSource) -> None:
    """Name the records of a corpus: those that came with its graphs, where it has any, else our own."""
    kept = adopted_tables(source)
    (imported_tables if kept.graph else own_tables).define_records(source)
    if kept.communities:
        imported_tables.define_communities(source)
        imported_tables.define_reports(source, kept=kept.reports)
    else:
        own_tables.define_communities(source)
        own_tables.define_reports(source)


def _vectors(source: ExportSource, made: ExportWriter) -> Iterator[str]:
    """Write the vectors; tell what is missing of them."""
    if not has_lance():
        yield (
            "the vectors are not written, without which only global search answers: install "
            f"'{EXTRA}' and export again"
        )
        return
    for name, query in VECTORS.items():
        wanted, rows = source.count(EMBEDDED[name]), 0
        if source.value(f"select count(*) from ({query})"):
            path = f"{_OUTPUT}/lancedb/{name}.lance"
            rows = write_vectors(made.place(path), source.rows(query))
            made.note(path, rows)
        if rows < wanted:
            yield (
                f"{plural(wanted - rows, 'row')} of {name} have no vector; run the job embed, publish and "
                "export again"
            )


def _models(source: ExportSource) -> Models:
    """Return the models that the settings of the snapshot name."""
    settings = parse_settings(source.settings, "the settings of the snapshot")
    size = source.value("select len(vector) from embeddings_entities limit 1")
    # Where questions are embedded otherwise than what is found, the name of the model says so.
    embedding = f"{source.corpus}:queries" if settings.embeddings.query_prefix else source.corpus
    if not any(engines()[settings.engine_of(one)].asks_model for one in ("search", "reports")):
        return Models(embedding, size)
    # What a query adds to the address is masked in the snapshot, and stands in the settings alone.
    url = None if settings.model.base_url is None else settings.model.base_url.partition("?")[0]
    return Models(embedding, size, settings.model.name, url)


#: Entities are called by their titles; a triple is described by the words that it rests on.
_TRIPLES = """
    select
        h.title as head, t.relation, o.title as tail, t.strength as weight,
        substr(u.text, t.start_char + 1, t.end_char - t.start_char) as description, t.triple_id as id,
        t.instances, d.path as document
    from graph_triples as t
    inner join ms_titles as h on h.entity_id = t.head_id
    inner join ms_titles as o on o.entity_id = t.tail_id
    left join corpus_text_chunks as u on u.text_unit_id = t.evidence_unit_id
    left join corpus_documents as d on d.document_id = u.document_id
    order by t.human_readable_id
"""
_ENTITIES = """
    select n.title, e.type, e.description, e.names, e.frequency, e.degree
    from graph_entities as e
    inner join ms_titles as n on n.entity_id = e.entity_id
    order by e.human_readable_id
"""


def write_lists(source: ExportSource, made: ExportWriter) -> list[str]:
    """Write the triples, and the entities where any are declared, as CSV."""
    if adopted_tables(source).graph:
        triples, entities = imported_lists(source)
    else:
        source.keep("ms_titles", TITLES)
        triples, entities = source.rows(_TRIPLES), source.rows(_ENTITIES)
    _write(made, "triples.csv", triples)
    if entities is not None:
        _write(made, "entities.csv", entities)
    return []


def _write(made: ExportWriter, path: str, rows: RowBatches) -> None:
    made.note(path, write_csv_file(made.place(path), rows, made), dict.fromkeys(rows.schema.names, "text"))


def write_tables(source: ExportSource, made: ExportWriter) -> list[str]:
    """Write every table that the snapshot has, in the order of its key."""
    _write_tables(source, made, lambda table: f"{table.schema}/{table.name}.parquet")
    return []


def write_lake(source: ExportSource, made: ExportWriter) -> list[str]:
    """Write the same files, and a DuckLake catalogue of them that says what tables and columns mean."""
    with lake_connection() as connection:
        tables = _write_tables(source, made, path_in_lake)
        path = f"{source.corpus}.ducklake"
        write_catalogue(connection, made.place(path), tables)
        made.note(path)
    return []


def _write_tables(
    source: ExportSource, made: ExportWriter, path_of: Callable[[Table], str]
) -> dict[Table, dict[str, str]]:
    written = {}
    for table in all_tables():
        if table not in source.present:
            continue
        order = ", ".join(f'"{name}"' for name in table.key)
        rows = source.rows(f'select * from "{view_of(table)}" order by {order}')
        path, written[table] = path_of(table), column_types(rows.schema)
        made.note(path, write_parquet(made.place(path), rows), written[table])
    return written


_WRITERS: Mapping[str, Callable[[ExportSource, ExportWriter], list[str]]] = MappingProxyType(
    {
        "microsoft": write_microsoft,
        "graphml": write_network,
        "rdf": write_rdf,
        "neo4j": write_neo4j,
        "triples": write_lists,
        "parquet": write_tables,
        "ducklake": write_lake,
    }
)


@dataclass(frozen=True, slots=True)
class Exported:
    """An export.

    Attributes:
        corpus: what was exported.
        form: in which form.
        folder: where it is.
        version: of the snapshot that was read.
        files: what was written, in the order of their paths.
        lacking: what it has not, a sentence each.
        formulas: cells of its CSV files that a spreadsheet would take for formulas.
    """

    corpus: str
    form: str
    folder: Path
    version: str
    files: tuple[ExportedFile, ...]
    lacking: tuple[str, ...]
    formulas: int = 0


def export(
    corpus: str,
    to: str,
    out: Path | str | None = None,
    *,
    formula_safe: bool = False,
    warehouse: Warehouse | None = None,
) -> Exported:
    """Write the published snapshot of a corpus in a form that other tools read.

    The same snapshot is written to the same bytes, but for Lance tables, whose files have random names, and
    the catalogue of DuckLake, which says when it was made.

    Args:
        corpus: the corpus.
        to: ``microsoft``, ``graphml``, ``rdf``, ``neo4j``, ``triples``, ``parquet`` or ``ducklake``.
        out: folder, made where it is not there; default: ``<corpus>-<to>`` in the current folder. Files of an
            earlier export in it are replaced when all new ones are whole; others stay.
        formula_safe: of ``triples``: put an apostrophe before each cell that a spreadsheet would take for a
            formula, which is then no longer the text that it was.
        warehouse: where the tables are; default: as the environment says.

    Raises:
        CorpusError: the name is not allowed.
        WarehouseError: nothing of the corpus has been published.
        ExportError: there is no such form, the folder holds something else, or ``formula_safe`` is asked of
            what a program reads.
    """
    if to not in _WRITERS:
        raise ExportError(f"there is no form {to!r}; there are {', '.join(_WRITERS)}")
    if formula_safe and to != "triples":
        raise ExportError(
            f"{to} is read by programs, which need each text as it is; leave --formula-safe out"
        )
    folder = Path(out if out is not None else f"{check_name(corpus)}-{to}").absolute()
    with open_source(warehouse or Warehouse(), corpus) as source:
        told = {
            "corpus": corpus,
            "to": to,
            "snapshot": source.snapshot.version,
            "run": source.snapshot.manifest.get("run_id"),
            "package": source.snapshot.manifest.get("package"),
        }
        with atomic_export_folder(folder, told, formula_safe=formula_safe) as made:
            lacking = _WRITERS[to](source, made)
    files = tuple(sorted(made.written, key=lambda one: one.path))
    return Exported(corpus, to, folder, source.snapshot.version, files, tuple(lacking), made.formulas)
