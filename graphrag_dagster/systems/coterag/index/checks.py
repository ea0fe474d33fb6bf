"""Checks on the tables of CoTeRAG-S."""

from collections.abc import Sequence

from graphrag_dagster.kernel import tables
from graphrag_dagster.kernel.pipeline.checks import CheckedPlace, TableRule
from graphrag_dagster.systems.coterag.tables import COTERAG_MEMBERS, COTERAG_STORES


def _stores_hold_every_entity(of: CheckedPlace) -> list[str]:
    if not of.settings.makes("coterag"):
        return []
    entities, placed = set(of.read(tables.ENTITIES)["entity_id"]), of.read(COTERAG_STORES)
    main = set(placed.filter(store="main")["entity_id"])
    inside = set(of.read(COTERAG_MEMBERS)["entity_id"])
    wrong = [
        (entities - set(placed["entity_id"]), "is in no store"),
        (inside - main, "is preserved apart, and in a community"),
    ]
    return [f"entity {one} {problem}" for found, problem in wrong for one in sorted(found)]


RULES: Sequence[TableRule] = (
    TableRule(
        COTERAG_STORES,
        "Every entity is of the main graph or preserved apart, and communities are of the main graph",
        _stores_hold_every_entity,
    ),
)
