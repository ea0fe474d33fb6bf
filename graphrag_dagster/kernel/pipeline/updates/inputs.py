"""Fingerprints of a stage's inputs, stored beside its tables: they decide whether rows are reused."""

import polars as pl

from graphrag_dagster.kernel.catalogue.registry import tasks
from graphrag_dagster.kernel.common.ids import stable_id
from graphrag_dagster.kernel.settings.corpus import CorpusSettings
from graphrag_dagster.kernel.settings.model import DECIDING_REPLIES, DECIDING_REQUESTS
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import Table


def unlike(warehouse: Warehouse, corpus: str, table: Table, state: pl.DataFrame) -> str:
    """Return why rows of before may not be taken over; nothing where they may.

    Args:
        warehouse: with the tables of before.
        corpus: its name.
        table: with ``part`` and ``value``, that says what decided them.
        state: its rows as they would be now.
    """
    before = warehouse.read_if_present(table, corpus)
    if before is None or before.is_empty():
        return "nothing finished was there"
    old, new = (dict(rows.select("part", "value").iter_rows()) for rows in (before, state))
    changed = sorted(part for part in old.keys() | new.keys() if old.get(part) != new.get(part))
    return f"changed: {', '.join(changed)}" if changed else ""


def begin_replacing(warehouse: Warehouse, corpus: str, table: Table) -> None:
    """Empty the state before the first table is replaced, so that a killed run leaves none to rely on."""
    warehouse.write(table, corpus, table.empty())


def model_of(settings: CorpusSettings, task: str) -> str:
    """Return a hash of what decides the replies of a task's model: its settings may hold what is nobody's."""
    model = settings.model.for_role(tasks()[task].role)
    decided = (*DECIDING_REPLIES, *DECIDING_REQUESTS)
    return stable_id(*(getattr(model, key) for key in decided))


def replies_in(rows: pl.DataFrame) -> list[str]:
    """Return the keys of the replies that rows were made of, each once.

    Args:
        rows: with ``replies``.
    """
    return rows["replies"].explode(empty_as_null=False).drop_nulls().unique(maintain_order=True).to_list()
