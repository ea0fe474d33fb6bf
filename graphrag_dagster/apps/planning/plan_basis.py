"""What is to be planned: the text units of a corpus as it is now, and about how many names they have."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from tempfile import TemporaryDirectory

import polars as pl

from graphrag_dagster.apps.interchange.settings import ImportSettings
from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.documents.documents import read_corpus, require_documents
from graphrag_dagster.kernel.documents.imported_texts import imported_texts
from graphrag_dagster.kernel.documents.text_units import cut_text_units
from graphrag_dagster.kernel.settings.corpus_settings import CorpusSettings
from graphrag_dagster.kernel.storage.corpus_store import CorpusStore
from graphrag_dagster.kernel.storage.duckdb_access import first_row
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse
from graphrag_dagster.systems.graphrag.llm.extraction_lengths import names_and_pairs


@dataclass(frozen=True, slots=True)
class PlanBasis:
    """The work to plan.

    ``units``: rows of ``corpus.text_chunks``; ``names`` and ``pairs``: of the graph, guessed where it is yet
    to be extracted; ``reports``: how many are to be written by level, None if unknown.
    """

    units: pl.DataFrame
    names: int
    pairs: int
    reports: Mapping[int, int] | None = None


def basis_of(store: CorpusStore, name: str) -> PlanBasis:
    """Read the files of a corpus as they are now.

    Raises:
        CorpusError: none of them can be read.
        SettingsError: its settings cannot be used.
    """
    settings = store.settings(name)
    if settings.makes("imports"):
        return _of_graph(store, name, settings)
    contents = read_corpus(store, name)
    # A corpus that had documents may have lost them all.
    if not Warehouse().exists(tables.DOCUMENTS, name):
        require_documents(contents, store.folder(name))
    units = cut_text_units(contents.documents, **settings.text_units.model_dump())
    found = [names_and_pairs(text) for text in units["text"]]
    return PlanBasis(
        units,
        names=len({one for names, _ in found for one in names}),
        pairs=len({one for _, pairs in found for one in pairs}),
    )


def _of_graph(store: CorpusStore, name: str, settings: CorpusSettings) -> PlanBasis:
    """A graph is taken in as an index does, into a file that goes again."""
    from graphrag_dagster.apps.interchange.graph_import import import_graphs

    own = settings.section(ImportSettings)
    with TemporaryDirectory() as folder:
        warehouse = Warehouse(path=f"{folder}/{{corpus}}.duckdb")
        import_graphs(store, warehouse, name)
        with warehouse.reading(name) as reader:
            texts = imported_texts(
                reader.read(tables.IMPORTED_DOCUMENTS),
                reader.read(tables.IMPORTED_TEXT_UNITS),
                settings.text_units.encoding,
            )
            names = _count_rows(
                reader,
                "select name from imports.entities union select head from imports.relations "
                "union select tail from imports.relations",
            )
            pairs = _count_rows(
                reader, "select distinct least(head, tail), greatest(head, tail) from imports.relations"
            )
            communities, reports = (
                Counter[int](reader.read(table, ["level"])["level"])
                for table in (tables.IMPORTED_COMMUNITIES, tables.IMPORTED_REPORTS)
            )
    if own.communities != "kept" or not communities:
        return PlanBasis(texts.text_units, names, pairs)
    there = reports if own.reports == "kept" else Counter()
    return PlanBasis(texts.text_units, names, pairs, communities - there)


def _count_rows(reader: Reader, query: str) -> int:
    found = first_row(reader.connection.execute(f"select count(*) from ({query})"))
    return int(found[0]) if found else 0
