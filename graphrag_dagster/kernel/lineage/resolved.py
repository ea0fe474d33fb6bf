"""Rows of instances, under the entities that their names are resolved to."""

from collections.abc import Iterable, Sequence

import polars as pl

from graphrag_dagster.kernel.lineage.rows import Rows
from graphrag_dagster.systems.graphrag.resolution.applying import Resolved

_ALIASES = "resolution.aliases"
_COLUMNS = ("document_id", "name", "entity")


class ResolvedRows:
    """Looks up instances by entity or text unit; names in what is returned are those of entities.

    Args:
        rows: the tables.
    """

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def of_entities(
        self, table: str, names: Sequence[str], entities: Iterable[str], columns: Sequence[str] = ()
    ) -> pl.DataFrame:
        """Return the instances of which the first name is one of the entities'.

        Args:
            table: as ``schema.table``, with ``text_unit_id``.
            names: its columns that hold names.
            entities: normalised names.
            columns: of the table; all where none are given.
        """
        wanted = sorted(set(entities))
        spelled = self._rows.of(_ALIASES, "entity", wanted, _COLUMNS)["name"].to_list()
        found = self._rows.of(table, names[0], sorted({*wanted, *spelled}), columns)
        return self._named(found, names).filter(pl.col(names[0]).is_in(wanted))

    def in_units(
        self, table: str, names: Sequence[str], units: Iterable[str], columns: Sequence[str] = ()
    ) -> pl.DataFrame:
        """Return the instances in text units.

        Args:
            table: as ``schema.table``, with ``text_unit_id``.
            names: its columns that hold names.
            units: ids.
            columns: of the table, ``text_unit_id`` among them; all where none are given.
        """
        return self._named(self._rows.of(table, "text_unit_id", units, columns), names)

    def _named(self, instances: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
        units = self._rows.of(
            "corpus.text_chunks",
            "text_unit_id",
            instances["text_unit_id"].unique(),
            ("text_unit_id", "document_id"),
        )
        said = pl.concat([instances[name] for name in names]).drop_nulls().unique()
        documents = units["document_id"].unique()
        # A name that is said everywhere would bring all other names of the corpus with it.
        column, wanted = ("name", said) if len(said) < len(documents) else ("document_id", documents)
        aliases = self._rows.of(_ALIASES, column, wanted, _COLUMNS)
        return Resolved(aliases, units).named(instances, *names)
