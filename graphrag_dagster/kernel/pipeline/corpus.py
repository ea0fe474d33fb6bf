"""The corpus step: documents and their text units."""

from collections.abc import Iterator

import polars as pl

from graphrag_dagster.kernel.documents.document_metadata import metadata_of, periods_of
from graphrag_dagster.kernel.documents.documents import CorpusContents, read_corpus, require_documents
from graphrag_dagster.kernel.documents.imported_texts import SERVER, imported_texts
from graphrag_dagster.kernel.documents.text_units import cut_text_units
from graphrag_dagster.kernel.pipeline.corpus_changes import check_before_index
from graphrag_dagster.kernel.pipeline.erasure import note_deleted
from graphrag_dagster.kernel.pipeline.result_display import counts
from graphrag_dagster.kernel.pipeline.step_declaration import Made, StepRun
from graphrag_dagster.kernel.tables.core_tables import (
    DOCUMENT_METADATA,
    DOCUMENT_PERIODS,
    DOCUMENTS,
    FILES,
    TEXT_CHUNKS,
)
from graphrag_dagster.kernel.tables.import_tables import (
    IMPORTED_DOCUMENTS,
    IMPORTED_FILES,
    IMPORTED_TEXT_UNITS,
)
from graphrag_dagster.kernel.tables.table_declaration import Tables


def corpus(tables: Tables, run: StepRun) -> Iterator[Made]:
    """Every file with its status, the documents read, and their text units (From Local to Global, §3.1.1).

    Text units are token windows of the documents, or come with an imported graph.
    """
    settings, imported = run.settings.text_units, run.settings.makes("imports")
    check_before_index(run.corpora, run.warehouse, run.corpus)
    if imported:
        texts = imported_texts(tables[IMPORTED_DOCUMENTS], tables[IMPORTED_TEXT_UNITS], settings.encoding)
        # Data from a server is not a file, which could have changed.
        files = tables[IMPORTED_FILES].filter(pl.col("format").ne_missing(SERVER))
        contents = CorpusContents(files, texts.documents)
    else:
        contents = read_corpus(run.corpora, run.corpus)
    documents = contents.documents
    note_deleted(run.warehouse, run.corpus, documents)
    unused = {"columns_without_file": list(contents.unused_columns)} if contents.unused_columns else {}
    yield Made(FILES, contents.files, {**counts(contents.files, "status"), **unused})
    if not imported and not run.warehouse.exists(DOCUMENTS, run.corpus):
        require_documents(contents, run.corpora.folder(run.corpus))
    yield Made(DOCUMENTS, documents, {"characters": int(documents["characters"].sum())})
    yield Made(DOCUMENT_METADATA, metadata_of(documents))
    yield Made(DOCUMENT_PERIODS, periods_of(documents))
    units = texts.text_units if imported else cut_text_units(documents, **settings.model_dump())
    yield Made(TEXT_CHUNKS, units, {"tokens": int(units["tokens"].sum()), "encoding": settings.encoding})
