"""What the last run compared, and whether it may be taken over."""

from importlib.metadata import version

import polars as pl

from graphrag_dagster.kernel.catalogue.registry import stages
from graphrag_dagster.kernel.common.ids import stable_id
from graphrag_dagster.kernel.pipeline.updates.inputs import unlike
from graphrag_dagster.kernel.storage.warehouse import Warehouse
from graphrag_dagster.kernel.tables import ALIASES, CANDIDATES, RESOLUTION_STATE
from graphrag_dagster.systems.graphrag.resolution.pairs.comparing import Earlier


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
