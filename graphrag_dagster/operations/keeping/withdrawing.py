"""A folder whose first index came to nothing is no corpus."""

from contextlib import suppress

from graphrag_dagster.errors import GraphragError, WarehouseError
from graphrag_dagster.model_calls.memory.account import UsageLog
from graphrag_dagster.model_calls.memory.database import database_at
from graphrag_dagster.operations.keeping.deletion import delete_made
from graphrag_dagster.resources.corpora import CorpusStore
from graphrag_dagster.resources.home import memory_file
from graphrag_dagster.resources.published import published
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import UNIT_LEDGER


def withdraw(corpora: CorpusStore, warehouse: Warehouse, corpus: str) -> None:
    """Undo that a folder was made known as a corpus, if nothing was extracted from it or paid for it.

    The folder stays, and so do Dagster's records of the run that failed.
    """
    # Dagster is loaded only when something is to be withdrawn.
    from graphrag_dagster.orchestration.dagster_history import forget_partition
    from graphrag_dagster.orchestration.dagster_instance import recorded

    # Why the index failed is told, not what hinders here.
    with suppress(GraphragError, OSError):
        if _has_something(warehouse, corpus):
            return
        delete_made(warehouse, corpus)
        corpora.forget(corpus)
        with recorded() as instance:
            if instance is not None:
                forget_partition(instance, corpus)


def _has_something(warehouse: Warehouse, corpus: str) -> bool:
    if published(warehouse, corpus) is not None:
        return True
    if memory_file().is_file() and UsageLog(database_at(memory_file())).table(corpus)["output_tokens"].sum():
        return True
    try:
        with warehouse.reading(corpus) as reader:
            return reader.has(UNIT_LEDGER) and not reader.is_empty(UNIT_LEDGER)
    except WarehouseError:
        # Nothing was begun.
        return False
