"""Files, documents and text units."""

from collections.abc import Iterator

import polars as pl
from dagster import AssetExecutionContext, Output

from graphrag_dagster.core.corpus.dating import periods_of
from graphrag_dagster.core.corpus.documents import CorpusContents, require_documents
from graphrag_dagster.core.corpus.graphs.server import SERVER
from graphrag_dagster.core.corpus.imported.texts import ImportedTexts, imported_texts
from graphrag_dagster.core.corpus.metadata import metadata_of
from graphrag_dagster.core.corpus.text_units import cut
from graphrag_dagster.operations.keeping.removals import check_removals
from graphrag_dagster.operations.keeping.residue import note_gone
from graphrag_dagster.orchestration.declare import (
    counts,
    ins_of,
    key_of,
    output,
    result,
    table_asset,
    table_assets,
)
from graphrag_dagster.orchestration.plots import histogram
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.settings import CorpusSettings
from graphrag_dagster.tables import (
    DOCUMENT_METADATA,
    DOCUMENT_PERIODS,
    DOCUMENTS,
    FILES,
    IMPORTED_DOCUMENTS,
    IMPORTED_FILES,
    IMPORTED_TEXT_UNITS,
    TEXT_CHUNKS,
)

_OF_GRAPHS = [key_of(table) for table in (IMPORTED_FILES, IMPORTED_DOCUMENTS, IMPORTED_TEXT_UNITS)]


@table_assets(
    (FILES, DOCUMENTS),
    deps=_OF_GRAPHS,
)
def corpus_documents(
    context: AssetExecutionContext, corpora: CorpusStore, warehouse: Warehouse
) -> Iterator[Output[pl.DataFrame]]:
    """Every file of the corpus folder and what became of it, and the documents read."""
    corpus = context.partition_key
    settings = corpora.settings(corpus)
    check_removals(corpora, warehouse, corpus)
    contents = _imported(warehouse, corpus, settings) if settings.makes("imports") else corpora.read(corpus)
    note_gone(warehouse, corpus, contents.documents)
    unused = {"columns_without_file": list(contents.unused_columns)} if contents.unused_columns else {}
    yield output(FILES, contents.files, **counts(contents.files, "status"), **unused)
    if not settings.makes("imports") and not warehouse.exists(DOCUMENTS, corpus):
        require_documents(contents, corpora.folder(corpus))
    characters = contents.documents["characters"]
    yield output(
        DOCUMENTS,
        contents.documents,
        characters=int(characters.sum()),
        sizes=histogram(characters.to_list(), "Document sizes", "characters"),
    )


@table_assets((DOCUMENT_METADATA, DOCUMENT_PERIODS), ins=ins_of(DOCUMENTS))
def said_of_documents(documents: pl.DataFrame) -> Iterator[Output[pl.DataFrame]]:
    """What documents can be chosen by: typed values of their metadata, and the periods they are of."""
    yield output(DOCUMENT_METADATA, metadata_of(documents))
    periods = periods_of(documents)
    yield output(DOCUMENT_PERIODS, periods, dated_documents=periods["document_id"].n_unique())


@table_asset(TEXT_CHUNKS, ins=ins_of(DOCUMENTS), deps=_OF_GRAPHS)
def text_chunks(
    context: AssetExecutionContext, documents: pl.DataFrame, corpora: CorpusStore, warehouse: Warehouse
) -> Output[pl.DataFrame]:
    """Text units: token windows of the documents (paper §3.1.1), or those that come with a graph."""
    corpus = context.partition_key
    settings = corpora.settings(corpus)
    encoding = settings.text_units.encoding
    if settings.makes("imports"):
        units = _texts(warehouse, corpus, encoding).text_units
    else:
        units = cut(documents, **settings.text_units.model_dump())
    return result(
        units,
        tokens=int(units["tokens"].sum()),
        encoding=encoding,
        sizes=histogram(units["tokens"].to_list(), "Text unit sizes", "tokens"),
    )


def _texts(warehouse: Warehouse, corpus: str, encoding: str) -> ImportedTexts:
    with warehouse.reading(corpus) as reader:
        return imported_texts(reader.read(IMPORTED_DOCUMENTS), reader.read(IMPORTED_TEXT_UNITS), encoding)


def _imported(warehouse: Warehouse, corpus: str, settings: CorpusSettings) -> CorpusContents:
    documents = _texts(warehouse, corpus, settings.text_units.encoding).documents
    # What a server gave is no file, which could have changed.
    files = warehouse.read(IMPORTED_FILES, corpus).filter(pl.col("format").ne_missing(SERVER))
    return CorpusContents(files, documents)
