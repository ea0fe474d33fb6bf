"""Basis of a plan: the text units of a corpus, and how many names and pairs its graph will have."""

from dataclasses import dataclass
from tempfile import TemporaryDirectory

import polars as pl

from graphrag_dagster.apps.interchange.settings import ImportSettings
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.documents.documents import require_documents
from graphrag_dagster.kernel.documents.imported import imported_texts
from graphrag_dagster.kernel.documents.text_units import cut
from graphrag_dagster.kernel.models.accounting.reply_sizes import names_and_pairs
from graphrag_dagster.kernel.settings.corpus import CorpusSettings
from graphrag_dagster.kernel.storage.corpora import CorpusStore
from graphrag_dagster.kernel.storage.duckdb_files.frames import first_row
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse


@dataclass(frozen=True, slots=True)
class Basis:
    """The work to plan.

    ``units``: rows of ``corpus.text_chunks``; ``names`` and ``pairs``: of the graph, guessed where it is yet
    to be extracted; ``reports``: how many will be written, None if unknown.
    """

    units: pl.DataFrame
    names: int
    pairs: int
    reports: int | None = None


def basis_of(store: CorpusStore, name: str) -> Basis:
    """Read the files of a corpus as they are now.

    Raises:
        CorpusError: none of them can be read.
        SettingsError: its settings cannot be used.
    """
    settings = store.settings(name)
    if settings.makes("imports"):
        return _of_graph(store, name, settings)
    contents = store.read(name)
    # A corpus that had documents may have lost them all.
    if not Warehouse().exists(tables.DOCUMENTS, name):
        require_documents(contents, store.folder(name))
    units = cut(contents.documents, **settings.text_units.model_dump())
    found = [names_and_pairs(text) for text in units["text"]]
    return Basis(
        units,
        names=len({one for names, _ in found for one in names}),
        pairs=len({one for _, pairs in found for one in pairs}),
    )


def _of_graph(store: CorpusStore, name: str, settings: CorpusSettings) -> Basis:
    """A graph is taken in as an index does, into a file that goes again."""
    from graphrag_dagster.apps.interchange.importing.taking_in import take_in

    with TemporaryDirectory() as folder:
        warehouse = Warehouse(path=f"{folder}/{{corpus}}.duckdb")
        written = take_in(store, warehouse, name)
        with warehouse.reading(name) as reader:
            texts = imported_texts(
                reader.read(tables.IMPORTED_DOCUMENTS),
                reader.read(tables.IMPORTED_TEXT_UNITS),
                settings.text_units.encoding,
            )
            names = _counted(
                reader,
                "select name from imports.entities union select head from imports.relations "
                "union select tail from imports.relations",
            )
            pairs = _counted(
                reader, "select distinct least(head, tail), greatest(head, tail) from imports.relations"
            )
    communities = written[tables.IMPORTED_COMMUNITIES].rows
    kept = settings.section(ImportSettings).communities == "kept" and communities
    there = written[tables.IMPORTED_REPORTS].rows if settings.section(ImportSettings).reports == "kept" else 0
    return Basis(texts.text_units, names, pairs, max(communities - there, 0) if kept else None)


def _counted(reader: Reader, query: str) -> int:
    found = first_row(reader.connection.execute(f"select count(*) from ({query})"))
    return int(found[0]) if found else 0
