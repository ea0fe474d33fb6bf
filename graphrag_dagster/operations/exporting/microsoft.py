"""A snapshot as a project of Microsoft GraphRAG 3."""

from collections.abc import Iterator

from graphrag_dagster.catalogue.registry import engines
from graphrag_dagster.core.exporting.folder import Making
from graphrag_dagster.core.exporting.lance import EXTRA, lance_there, write_vectors
from graphrag_dagster.core.exporting.microsoft import SCHEMAS, Models, readme_text, settings_text
from graphrag_dagster.core.exporting.parquet_file import told_columns, write_parquet
from graphrag_dagster.core.wording import counted
from graphrag_dagster.operations.exporting import imported_tables, own_tables
from graphrag_dagster.operations.exporting.kept import kept_of
from graphrag_dagster.operations.exporting.microsoft_tables import EMBEDDED, VECTORS, microsoft_rows
from graphrag_dagster.operations.exporting.source import Source
from graphrag_dagster.settings import parse_settings

_OUTPUT = "output"
#: Its command reads no claims where there is no file.
_OPTIONAL = "covariates"


def write_microsoft(source: Source, made: Making) -> list[str]:
    """Write the tables, vectors and settings of a project; returns what it lacks, a sentence each."""
    define_tables(source)
    for name, schema in SCHEMAS.items():
        if name == _OPTIONAL and not source.count(f"ms_{name}"):
            continue
        path = f"{_OUTPUT}/{name}.parquet"
        rows = write_parquet(made.place(path), microsoft_rows(source, name), schema)
        made.note(path, rows, told_columns(schema))
    lacking = list(_vectors(source, made))
    models = _models(source)
    made.text("settings.yaml", settings_text(models))
    made.text("README.md", readme_text(source.corpus, models, lacking))
    return lacking


def define_tables(source: Source) -> None:
    """Name the records of a corpus: those that came with its graphs, where it has any, else our own."""
    kept = kept_of(source)
    (imported_tables if kept.graph else own_tables).define_records(source)
    if kept.communities:
        imported_tables.define_communities(source)
        imported_tables.define_reports(source, kept=kept.reports)
    else:
        own_tables.define_communities(source)
        own_tables.define_reports(source)


def _vectors(source: Source, made: Making) -> Iterator[str]:
    """Write the vectors; tell what is missing of them."""
    if not lance_there():
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
                f"{counted(wanted - rows, 'row')} of {name} have no vector; run the job embed, publish and "
                "export again"
            )


def _models(source: Source) -> Models:
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
