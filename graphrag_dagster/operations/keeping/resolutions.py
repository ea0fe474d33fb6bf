"""The resolution that a corpus already has, and whether its comparisons may be taken over."""

from importlib.metadata import version

import polars as pl

from graphrag_dagster.catalogue.registry import stages
from graphrag_dagster.core.ids import stable_id
from graphrag_dagster.core.resolution.pairs.comparing import Earlier
from graphrag_dagster.operations.keeping.deciding import unlike
from graphrag_dagster.resources.warehouse import Warehouse
from graphrag_dagster.tables import ALIASES, CANDIDATES, RESOLUTION_STATE


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
