"""What decided the tables of a stage, kept beside them: whether rows of before may be taken over."""

from importlib.metadata import version

import polars as pl

from graphrag_dagster.catalogue.registry import stages, tasks
from graphrag_dagster.core.ids import stable_id
from graphrag_dagster.core.resolution.pairs.comparing import Earlier
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.settings import CorpusSettings
from graphrag_dagster.settings.model import DECIDING_REPLIES, DECIDING_REQUESTS
from graphrag_dagster.tables import ALIASES, CANDIDATES, RESOLUTION_STATE, Table


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


def state_of_resolution(code: str, *, enabled: bool) -> pl.DataFrame:
    """Return all that decides how two names compare: rows of ``resolution.resolution_state``.

    Args:
        code: version of the code that compares.
        enabled: whether anything is compared.
    """
    parts = {
        "code": code,
        "enabled": enabled,
        "columns": stable_id(CANDIDATES.columns, ALIASES.columns),
        **{package: version(package) for package in stages()["resolution"].libraries},
    }
    return RESOLUTION_STATE.frame({"part": name, "value": str(value)} for name, value in parts.items())


def earlier_resolution(warehouse: Warehouse, corpus: str, state: pl.DataFrame) -> tuple[Earlier | None, str]:
    """Return what was compared before where it may be taken over, else None; and why not."""
    if why := unlike(warehouse, corpus, RESOLUTION_STATE, state):
        return None, why
    with warehouse.reading(corpus) as reader:
        return Earlier(reader.read(CANDIDATES), reader.read(ALIASES)), "nothing was"
