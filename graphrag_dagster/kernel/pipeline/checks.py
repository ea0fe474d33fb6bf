"""Checks that tables must pass before anything is built on them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.catalogue.registry import loaded, systems
from graphrag_dagster.kernel.documents.text_units import check_texts, check_units
from graphrag_dagster.kernel.settings.corpus import CorpusSettings
from graphrag_dagster.kernel.storage.warehouse import Reader, Warehouse
from graphrag_dagster.kernel.tables import Table


class CheckedPlace:
    """Input of a check: the tables of a corpus, its settings and its published snapshot.

    Args:
        reader: of the corpus; nothing is written while it is open.
        settings: of the corpus.
        warehouse: where its snapshots lie.
    """

    def __init__(self, reader: Reader, settings: CorpusSettings, warehouse: Warehouse) -> None:
        self.reader, self.settings, self.warehouse = reader, settings, warehouse
        self._read: dict[Table, pl.DataFrame] = {}

    def read(self, table: Table) -> pl.DataFrame:
        """All rows of the corpus."""
        if table not in self._read:
            self._read[table] = self.reader.read(table)
        return self._read[table]


@dataclass(frozen=True, slots=True)
class TableRule:
    """Result of a check; ``problems`` is empty if it passed. Non-blocking checks only warn."""

    table: Table
    description: str
    problems: Callable[[CheckedPlace], Sequence[str]]
    blocking: bool = True


def _units_cover_documents(of: CheckedPlace) -> list[str]:
    if of.settings.makes("imports"):
        return check_texts(of.read(tables.DOCUMENTS), of.read(tables.TEXT_CHUNKS))
    settings = of.settings.text_units
    return check_units(
        of.read(tables.DOCUMENTS), of.read(tables.TEXT_CHUNKS), settings.size, settings.overlap
    )


_OWN = (
    TableRule(
        tables.TEXT_CHUNKS,
        "Units cover every character of their document, reproduce its text, and are as many as the window "
        "rule requires",
        _units_cover_documents,
    ),
)


def rules() -> Sequence[TableRule]:
    """Return what must hold of tables: rules of the kernel and of all systems."""
    named = [system.rules for system in systems().values() if system.rules]
    return (*_OWN, *(rule for one in named for rule in loaded(one)))
